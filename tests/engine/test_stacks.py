"""Which frames of a thread are the user's."""

from __future__ import annotations

import pytest

from frtui.model import Frame
from frtui.stacks import call_site, doing, program

MAIN = Frame("main", "/job/train.py", 30)


@pytest.mark.parametrize(
    "filename",
    [
        "/usr/lib/python3.11/threading.py",
        "/opt/conda/lib/python3.9/multiprocessing/queues.py",
        "/usr/lib/python311.zip/queue.py",
        "<frozen runpy>",
        "/x/lib/python3.11/site-packages/torch/utils/data/dataloader.py",
    ],
)
def test_frames_of_libraries_are_not(filename: str) -> None:
    assert program((Frame("wait", filename, 1), MAIN)) == (MAIN,)


@pytest.mark.parametrize("filename", ["/x/lib/python3.11/site-packages/megatron/core.py", "/home/me/lib/python3/x.py"])
def test_frames_of_other_packages_are(filename: str) -> None:
    assert len(program((Frame("step", filename, 1), MAIN))) == 2


@pytest.mark.parametrize(
    "filename",
    [
        "/x/lib/python3.11/site-packages/typing_extensions.py",  # torch deprecates all_gather_into_tensor
        "/x/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
        "/usr/lib/python3.11/contextlib.py",
        "<frozen runpy>",
        "<string>",
    ],
)
def test_what_stands_between_the_program_and_torch_is_no_call_site(filename: str) -> None:
    between = Frame("wrapper", filename, 1)
    assert call_site((between, MAIN)) == MAIN


def test_python_s_library_is_the_call_site_where_there_is_nothing_else() -> None:
    assert call_site((Frame("run", "/usr/lib/python3.11/threading.py", 9),)) is not None
    assert call_site((Frame("all_reduce", "/x/site-packages/torch/distributed/x.py", 9),)) is None


def test_a_long_chain_is_cut() -> None:
    assert doing((MAIN,) * 3).count("←") == 2
    assert doing((MAIN,) * 4).endswith("main (train.py:30) ← …")
    assert doing(()) == ""
