"""Items are held as JSON, and come back as they were."""

from datetime import UTC, datetime, timedelta

from langgraph_engram.schema import Turn
from langgraph_engram.stores import packed_items
from langgraph_engram.stores.packed_items import PackedItems

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
    monkeypatch.setattr(packed_items, "MAX_UNPACKED", 2)
    items = PackedItems(Turn).extended(turns(0, 5))
    later, other = items.extended(turns(5, 7)).replaced({1: turns(9, 10)[0]}), items.extended(turns(7, 8))

    assert [items[position] for position in (4, 0, 3, 0)] == [turns(0, 5)[position] for position in (4, 0, 3, 0)]
    assert items == turns(0, 5)
    assert later == [*turns(0, 1), *turns(9, 10), *turns(2, 7)]
    assert other == [*turns(0, 5), *turns(7, 8)]
    assert later[-2:] == turns(5, 7)
    assert PackedItems(Turn, later.packed) == later
    assert later.nbytes < 3 * packed_items.UNPACKED_BYTES


def test_an_item_that_was_read_is_not_made_again():
    """Whoever reads it next has the same object."""
    items = PackedItems(Turn, PackedItems(Turn).extended(turns(0, 3)).packed)

    assert items[1] is items[1]
