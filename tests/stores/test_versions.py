"""Versions of arrays and items share memory, and each keeps what it had."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.schema import Turn
from langgraph_engram.stores import versions
from langgraph_engram.stores.versions import AppendOnlyArray, PackedItems

MONDAY = datetime(2024, 1, 1, 9, tzinfo=UTC)


def turns(first, end):
    return [
        Turn(
            turn_id=f"t{number}", session_id="s", seq=number, role="user", speaker="Ana", text=f"Hi {number}",
            said_at=MONDAY + timedelta(minutes=number),
        )
        for number in range(first, end)
    ]  # fmt: skip


def test_items_come_back_when_few_are_held_as_objects(monkeypatch):
    """In any order of reading, and from another version as well."""
    monkeypatch.setattr(versions, "MAX_UNPACKED", 2)
    items = PackedItems(Turn).extended(turns(0, 5))
    later, other = items.extended(turns(5, 7)).replaced({1: turns(9, 10)[0]}), items.extended(turns(7, 8))

    assert [items[position] for position in (4, 0, 3, 0)] == [turns(0, 5)[position] for position in (4, 0, 3, 0)]
    assert items == turns(0, 5)
    assert later == [*turns(0, 1), *turns(9, 10), *turns(2, 7)]
    assert other == [*turns(0, 5), *turns(7, 8)]
    assert later[-2:] == turns(5, 7)
    assert PackedItems(Turn, later.packed) == later
    assert later.nbytes < 3 * versions.UNPACKED_BYTES


def test_an_item_that_was_read_is_not_made_again():
    """Whoever reads it next has the same object."""
    items = PackedItems(Turn, PackedItems(Turn).extended(turns(0, 3)).packed)

    assert items[1] is items[1]


def rows(*numbers):
    return np.array(numbers, dtype=np.int32)


@given(parts=st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=20))
def test_every_version_keeps_its_rows(parts):
    """A version made long ago reads as it did, whatever was added since."""
    versions, wanted = [AppendOnlyArray(rows())], [[]]

    for part in parts:
        versions.append(versions[-1].extended(rows(*part)))
        wanted.append([*wanted[-1], *part])

    assert [version.rows.tolist() for version in versions] == wanted


def test_two_extensions_of_one_version_are_independent():
    """The second does not write over the first, and a replaced row stands in its own version only."""
    given_rows = rows(1)
    root = AppendOnlyArray(given_rows).extended(rows(2))

    first, second, third = root.extended(rows(3)), root.extended(rows(4)), root.replaced([0], rows(9))

    assert (first.rows.tolist(), second.rows.tolist()) == ([1, 2, 3], [1, 2, 4])
    assert (root.rows.tolist(), third.rows.tolist(), given_rows.tolist()) == ([1, 2], [9, 2], [1])
