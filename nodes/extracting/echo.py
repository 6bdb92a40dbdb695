"""Find records that only repeat what memory had told an assistant: kept again, they would confirm themselves."""

from collections.abc import Sequence

import numpy as np

from langgraph_engram.language.tokens import content_stems
from langgraph_engram.schema import Record, Turn
from langgraph_engram.settings import GroundSettings
from langgraph_engram.stores.scope_index import ScopeIndex


def echoed(record: Record, sources: Sequence[Turn], index: ScopeIndex, settings: GroundSettings) -> str:
    """Say which stored record this one echoes; empty if it tells anything of its own.

    What an assistant says that a stored record holds already, nearly word for word, comes from memory. What a user says
    is never an echo.

    Args:
        record: The record to judge.
        sources: The turns it cites.
        index: What is stored of the scope.
        settings: The least share of its stems that the stored one holds.
    """
    if not sources or any(turn.role == "user" for turn in sources) or not len(index.records):
        return ""
    told = set(content_stems(record.content)) - {one for turn in sources for one in content_stems(turn.speaker)}
    if not told:
        return ""
    least = settings.echo * len(told)
    for place in np.flatnonzero(index.records.lexical.count_held(told) >= least):  # by content or by keywords
        stored = index.records.items[place]
        if stored.status != "active" or set(stored.source_turn_ids) & set(record.source_turn_ids):
            continue
        if len(told.intersection(content_stems(stored.content))) >= least:
            return f"it echoes the record {stored.record_id}"
    return ""
