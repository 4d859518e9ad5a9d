"""A fixed part of the bench: a few cases of each kind. `make score` runs more of them and says which are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.__main__ import solve, told
from tests.faults.cases import HEALTHY, make
from tests.faults.judge import judge
from tests.faults.kinds import FAULTS

SEEDS = range(100, 103)
FLOOR = 0.95


def wrong(folder: Path, kinds: tuple[str, ...]) -> list[str]:
    """What was said of each case that is not right."""
    found = []
    for kind in kinds:
        for seed in SEEDS:
            case = make(kind, seed)
            job, findings = solve(case, folder / case.name)
            if not judge(case, job, findings).right:
                found.append(told(case, job, findings))
    return found


def test_most_faults_are_named_rightly(tmp_path: Path) -> None:
    bad = wrong(tmp_path, tuple(FAULTS))
    assert len(bad) <= (1 - FLOOR) * len(FAULTS) * len(SEEDS), "\n".join(bad)
    missed = [kind for kind in FAULTS if sum(line.startswith(f"{kind}-") for line in bad) == len(SEEDS)]
    assert not missed, "\n".join(bad)


@pytest.mark.parametrize("kind", HEALTHY)
def test_nothing_is_found_in_a_healthy_job(kind: str, tmp_path: Path) -> None:
    assert wrong(tmp_path, (kind,)) == []


def test_a_case_is_the_same_each_time() -> None:
    first, again = make("skip", 7), make("skip", 7)
    assert (first.plan, first.made[0], first.how) == (again.plan, again.made[0], again.how)
