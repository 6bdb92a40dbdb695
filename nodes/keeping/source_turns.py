"""Find the stored turns that records were drawn from: what is left to do about records is noted on these."""

from collections.abc import Iterable

from langgraph_engram.nodes.keeping.receive import stored_turns
from langgraph_engram.schema import Record, Turn
from langgraph_engram.stores.scope_index import ScopeIndex


def turns_under(index: ScopeIndex, records: Iterable[Record]) -> list[Turn]:
    """Give the stored turns that any of these records cites, each once, by session and place in it."""
    return stored_turns(index, list(dict.fromkeys(one for record in records for one in record.source_turn_ids)))
