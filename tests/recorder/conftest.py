"""Fixtures for jobs that are forked from one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.recorder.zygotes import Ended, Zygote


@pytest.fixture(scope="session")
def one_zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


@pytest.fixture
def zygote(one_zygote: Zygote) -> Iterator[Zygote]:
    with one_zygote.clearing():
        yield one_zygote


@pytest.fixture(scope="module")
def ended(
    one_zygote: Zygote, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Ended]:
    """Of the module's jobs, its `ALONE`."""
    with one_zygote.clearing():
        yield Ended(one_zygote, request.module.ALONE, tmp_path_factory.mktemp("jobs"))
