"""Edit scripts: what was done to a sequence of calls is what the script says."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from frtui.engine.align import BAND, GAP, SAME, SWAP, Edit, Token, alike, crossed, foresee, parting, score, script

STEP = [Token(1, 10), Token(1, 11), Token(2, 20), Token(3, 30), Token(4, 40)]
"""One training step: two equal calls from neighbouring lines, then three different ones."""


def steps(n: int) -> list[Token]:
    return STEP * n


def edits_of(subject: list[Token], reference: list[Token]) -> list[Edit]:
    return [edit for edit in script(subject, reference) if edit.op != "same"]


@given(st.integers(0, 39))
def test_a_call_left_out(at: int) -> None:
    calls = steps(8)
    assert edits_of(calls[:at] + calls[at + 1 :], calls) == ([Edit("skip", at, at)] if at < 39 else [])


@given(st.integers(0, 39))
def test_a_call_added(at: int) -> None:
    calls = steps(8)
    assert edits_of([*calls[:at], Token(9, 90), *calls[at:]], calls) == [Edit("extra", at, at)]


@given(st.integers(0, 39))
def test_other_arguments_at_the_same_line(at: int) -> None:
    calls = steps(8)
    changed = [*calls[:at], Token(9, calls[at].site), *calls[at + 1 :]]
    assert edits_of(changed, calls) == [Edit("replace", at, at)]


@given(st.integers(0, 38))
def test_two_calls_in_the_other_order(at: int) -> None:
    calls = steps(8)
    swapped = [*calls[:at], calls[at + 1], calls[at], *calls[at + 2 :]]
    assert edits_of(swapped, calls) == [Edit("swap", at, at)]


@given(st.integers(0, 39))
def test_the_same_call_from_another_line_is_no_difference(at: int) -> None:
    calls = steps(8)
    logged = [*calls[:at], Token(calls[at].key, 99), *calls[at + 1 :]]
    assert parting(script(logged, calls), done=0) is None


@given(st.integers(0, 40))
def test_being_behind_is_no_difference(at: int) -> None:
    assert edits_of(steps(8)[:at], steps(8)) == []


def test_without_call_sites_the_arguments_decide() -> None:
    bare = [Token(token.key, -1) for token in steps(3)]
    assert edits_of([*bare[:7], *bare[8:]], bare) == [Edit("skip", 7, 7)]


def test_a_gap_in_a_run_of_equal_calls_lies_at_its_end() -> None:
    run = [Token(1, 10)] * 4
    assert edits_of([*run[:3], Token(2, 20)], [*run, Token(2, 20)]) == [Edit("skip", 3, 3)]


@given(st.lists(st.sampled_from(STEP), max_size=30), st.lists(st.sampled_from(STEP), max_size=30))
def test_a_script_leads_from_one_sequence_to_the_other(subject: list[Token], reference: list[Token]) -> None:
    """Replayed over both, the steps follow one another without a hole, and equal calls are said to be equal."""
    size = {"same": (1, 1), "replace": (1, 1), "extra": (1, 0), "skip": (0, 1), "swap": (2, 2)}
    i = j = 0
    for edit in script(subject, reference):
        assert (edit.i, edit.j) == (i, j)
        assert abs(i - j) <= BAND
        if edit.op == "same":
            assert subject[i].key == reference[j].key
        i, j = i + size[edit.op][0], j + size[edit.op][1]
    assert i == len(subject) or j == len(reference)


def test_differences_among_finished_calls_did_no_harm() -> None:
    calls = steps(4)
    changed = [Token(7, 70), *calls[1:]]
    assert parting(script(changed, calls), done=20) is None
    assert parting(script(changed, calls), done=0) is not None


def test_what_followed_last_time_is_foreseen() -> None:
    past = steps(3)[:-2]
    assert foresee(past, length=4) == [STEP[3], STEP[4], STEP[0], STEP[1]]


def test_nothing_is_foreseen_where_nothing_repeats() -> None:
    assert foresee([Token(n, n) for n in range(9)]) == []


# The script against the plain recurrence, of which it leaves out what can't matter.

TOKENS = st.builds(Token, st.integers(-1, 3), st.integers(-1, 3), st.integers(-1, 1))
STEPS = st.lists(TOKENS, min_size=1, max_size=6)
CALLS = st.one_of(st.lists(TOKENS, max_size=40), st.builds(lambda step, n: step * n, STEPS, st.integers(0, 12)))
CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "drop", "change", "swap"]), st.integers(0, 60), TOKENS), max_size=4
)


def changed(calls: list[Token], changes: list[tuple[str, int, Token]]) -> list[Token]:
    calls = list(calls)
    for how, at, token in changes:
        at = min(at, len(calls))
        if how == "add":
            calls.insert(at, token)
        elif how == "swap":
            calls[at : at + 2] = calls[at : at + 2][::-1]
        else:
            calls[at : at + 1] = [token] if how == "change" else []
    return calls


def plain(subject: list[Token], reference: list[Token], foreseen: list[Token]) -> list[Edit]:
    """Every cell of the band, each with the whole way to it."""
    a, b = subject, reference + foreseen
    start = next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    ways: dict[tuple[int, int], tuple[int, list[Edit]]] = {
        (start, start): (0, [Edit("same", n, n) for n in range(start)])
    }
    for i in range(start, len(a) + 1):
        for j in range(max(start, i - BAND), min(len(b), i + BAND) + 1):
            steps = list(_steps(a, b, i, j, len(reference)))
            known = [(ways[at][0] + gain, ways[at][1], op, at) for at, gain, op in steps if at in ways]
            if known:
                best = max(known, key=lambda step: step[0])
                ways.setdefault((i, j), (best[0], [*best[1], Edit(best[2], *best[3])]))
    ends = [at for at in ways if at[0] == len(a) or at[1] == len(b)]
    return ways[max(ends, key=lambda at: (ways[at][0], sum(at), at[0]))][1]


def _steps(a: list[Token], b: list[Token], i: int, j: int, recorded: int) -> Iterator[tuple[tuple[int, int], int, str]]:
    yield (i, j - 1), GAP, "skip"
    yield (i - 1, j), GAP, "extra"
    if i and j:
        x, y = a[i - 1], b[j - 1]
        yield (i - 1, j - 1), min(score(x, y), SAME if j <= recorded else 0), "same" if alike(x, y) else "replace"
    again = j > recorded and i > 2 and a[i - 3] == a[i - 2]
    if i > 1 and j > 1 and crossed(a[i - 2], a[i - 1], b[j - 2], b[j - 1]) and not again:
        yield (i - 2, j - 2), SWAP, "swap"


@given(CALLS, CHANGES, CHANGES, st.lists(TOKENS, max_size=24), st.booleans())
def test_the_script_is_that_of_the_plain_recurrence(
    calls: list[Token],
    mine: list[tuple[str, int, Token]],
    theirs: list[tuple[str, int, Token]],
    foreseen: list[Token],
    repeats: bool,
) -> None:
    subject, reference = changed(calls, mine), changed(calls, theirs)
    foreseen = (reference * 24)[:24] if repeats else foreseen
    assert script(subject, reference, foreseen) == plain(subject, reference, foreseen)
