"""Which frames of a thread are the user's."""

from __future__ import annotations

import pytest

from frtui.model import Frame
from frtui.stacks import doing, program

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


def test_a_long_chain_is_cut() -> None:
    assert doing((MAIN,) * 3).count("←") == 2
    assert doing((MAIN,) * 4).endswith("main (train.py:30) ← …")
    assert doing(()) == ""
