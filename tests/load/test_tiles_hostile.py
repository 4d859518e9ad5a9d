"""What damage and malice do to the fast way: nothing that they don't do to the general one."""

from __future__ import annotations

import gc
import pickle
import random
import time

import pytest

from frtui.load import tiles
from frtui.load.normalise import normalise
from tests import torch_pickle
from tests.dumps import DEFAULT, dump, entry
from tests.load.ways import fast, general, job, same

SMALL = torch_pickle.dumps(
    dump([entry(1), entry(2), entry(3, "send 0->1", p2p_seq=1), entry(4)], pg_config={DEFAULT: [0]})
)


def test_every_cut_is_left_to_the_general_way() -> None:
    assert not any(same(SMALL[:end]) for end in range(len(SMALL)))
    assert same(SMALL + b"rest of an older, longer dump")


def test_every_bit_that_flips() -> None:
    taken = 0
    for at in range(len(SMALL)):
        for bit in (at % 8, (at + 3) % 8):
            taken += same(SMALL[:at] + bytes([SMALL[at] ^ 1 << bit]) + SMALL[at + 1 :])
    assert taken > len(SMALL) // 4, "hardly any was read the fast way: nothing was compared"


def test_bytes_that_are_exchanged_doubled_and_lost() -> None:
    chance = random.Random(7)
    data = torch_pickle.dumps(job())
    taken = 0
    for _ in range(1500):
        at, size, to = chance.randrange(len(data)), chance.randrange(1, 40), chance.randrange(len(data))
        piece = data[to : to + chance.randrange(40)]
        taken += same(data[:at] + piece + data[at + chance.choice((0, len(piece), size)) :])
    assert taken > 5, "hardly any was read the fast way: nothing was compared"


def test_lists_without_number_are_refused_whichever_way_is_asked() -> None:
    raw = dump([entry(n) for n in range(1, 9)], pg_config={DEFAULT: [0]})
    data = torch_pickle.dumps({**raw, "more": [[] for _ in range(300_000)]})
    assert not same(data)
    assert "lists and dicts" in general(data)[1]


def test_nothing_is_left_for_the_collector() -> None:
    """It is off while dumps are read: what hangs together in a circle would stay, and the bytes of its file with it."""
    data = torch_pickle.dumps(job())
    normalise(tiles.read(data), len(data))
    gc.collect()
    normalise(tiles.read(data), len(data))
    assert gc.collect() == 0


ODD = {
    "a new name each": lambda n: [entry(s, f"op{s}") for s in range(n)],
    "a new name every other time": lambda n: [entry(s, f"op{s * (s % 2)}") for s in range(n)],
    "new sizes each": lambda n: [entry(s, sizes=[[s, 70_000 + s]]) for s in range(n)],
    "a new stack every fifth time": lambda n: [entry(s, site=("x.py", s // 5)) for s in range(n)],
    "keys that come and go": lambda n: [{**entry(s), f"key{s % 9}": 1} for s in range(n)],
    "another order of keys": lambda n: [dict(list(entry(s).items())[:: 1 - 2 * (s % 2)]) for s in range(n)],
    "many tensors": lambda n: [entry(s, sizes=[[s]] * 999, site=None) for s in range(n // 100)],
    "too many tensors": lambda n: [entry(s, sizes=[[s]] * 3001, site=None) for s in range(n // 100)],
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_dump_costs_little_more_than_the_general_way(name: str) -> None:
    """Twice as much and a bit, since the machine may be busy with something else; quadratic would be 100 times."""
    data = torch_pickle.dumps(dump(ODD[name](6000)))
    began = time.thread_time()
    found = fast(data)
    between = time.thread_time()
    assert found in (None, general(data))
    assert between - began < 0.5 + 2 * (time.thread_time() - between)


@pytest.mark.parametrize(
    "new", [b"j\0\0\0\xff", b"j\1\0\0\xff", b"j\0\0\0\x80", b"h\xff", b"j\xff\0\0\0", b"](e", b"}(u"]
)
def test_what_is_fetched_from_nowhere(new: bytes) -> None:
    """Also from the slots where the fast way keeps what torch left out of the memo."""
    rows = [entry(s, site=("x.py", s)) for s in range(1, 4)] + [entry(3)] * 2
    data = torch_pickle.dumps(dump(rows, pg_config={DEFAULT: [0]}))
    places = [at for at in range(len(data)) if data[at] == ord("h")]
    assert len(places) > 100
    assert not any([same(data[:at] + new + data[at + 2 :]) for at in places]) or new in (b"](e", b"}(u")


def test_memo_slots_that_are_filled_twice_or_out_of_order() -> None:
    data = torch_pickle.dumps(dump([entry(1), entry(2, "broadcast"), entry(3)]))
    puts = [at for at in range(len(data) - 1) if data[at : at + 1] == b"q"]
    for at in puts:
        for slot in (0, 5, 200):
            same(data[: at + 1] + bytes([slot]) + data[at + 2 :])
        same(data[:at] + b"r" + data[at + 1 : at + 2] + b"\0\0\0" + data[at + 2 :])


def test_a_frame_that_is_changed_afterwards() -> None:
    """Whatever holds it shows the change, since it is one object."""
    data = torch_pickle.dumps(dump([entry(s) for s in (1, 2, 3, 4)]))
    frame = data.index(b"<module>")
    slot = data[data.index(b"uq", frame) + 2]
    line = data[data.rindex(b"lineq", 0, frame) + 5]
    changed = b"h" + bytes([slot]) + b"(h" + bytes([line]) + b"K\x63u"
    assert pickle.loads(data)["entries"][0]["frames"][2]["line"] == 9
    top = data.rindex(b"u")
    later = data[:top] + b"X\1\0\0\0x" + changed + data[top:]
    assert same(later)
    assert fast(later)[0]["stacks"][0][2].line == 99
