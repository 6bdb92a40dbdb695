"""What the fusion knows of each record is of the version of the scope that is searched."""

import pytest

from langgraph_engram.retrieval.features import record_links
from tests.conftest import NOON


def linked(index):
    """Return the texts of the turns that each record rests on, by its links."""
    links, turns = record_links(index), index.turns.items
    return {
        record.content: (turns[int(last)].text, [turns[at].text for at in cited if at >= 0])
        for record, last, cited in zip(index.records.items, links.turn, links.sources.tolist(), strict=True)
    }


@pytest.mark.parametrize("told", [(0, 1, 2), (1, 2)], ids=["with what rests on it", "of which nothing was drawn"])
def test_records_are_linked_to_their_turns_where_a_turn_is_withdrawn(store, scope, keep, turn, record, told):
    """Whatever was searched before: a turn that is left out moves all those behind it."""
    turns = [turn(number, f"said {number}") for number in range(3)]
    keep(turns=turns, records=[record(at, f"record {at}", source_turn_ids=[turns[at].turn_id]) for at in told])
    before = linked(store.index(scope).as_of(None))

    keep(turns=[turns[0].model_copy(update={"withdrawn": "removed", "withdrawn_at": NOON})])
    after = linked(store.index(scope).as_of(None))
    keep(turns=turns[:1])

    assert after == {f"record {at}": (f"said {at}", [f"said {at}"]) for at in (1, 2)}
    assert linked(store.index(scope).as_of(None)) == before
