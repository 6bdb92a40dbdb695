"""Versions of arrays and items share memory, and each keeps what it had."""

import numpy as np

from langgraph_engram.schema import Turn
from langgraph_engram.stores import versions
from langgraph_engram.stores.versions import AppendOnlyArray, PackedItems
from tests.conftest import make_turn


def turns(first, end):
    return [make_turn(number, f"Hi {number}") for number in range(first, end)]


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


def rows(*numbers):
    return np.array(numbers, dtype=np.int32)


def test_two_extensions_of_one_version_are_independent():
    """The second does not write over the first, and a replaced row stands in its own version only."""
    given_rows = rows(1)
    root = AppendOnlyArray(given_rows).extended(rows(2))

    first, second, third = root.extended(rows(3)), root.extended(rows(4)), root.replaced([0], rows(9))

    assert (first.rows.tolist(), second.rows.tolist()) == ([1, 2, 3], [1, 2, 4])
    assert (root.rows.tolist(), third.rows.tolist(), given_rows.tolist()) == ([1, 2], [9, 2], [1])
