"""Find what a buffer goes back to: seed records from history, each with its whole event (StructMem section 3.3)."""

from collections.abc import Sequence
from math import inf

import numpy as np

from langgraph_engram.moments import epoch_seconds
from langgraph_engram.schema import Record
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.usage import count_tokens


def history_of(index: ScopeIndex, buffer: Sequence[Record], settings: SynthesisSettings) -> list[Record]:
    """Give the earlier records that a buffer is told beside.

    Args:
        index: What is stored of the scope, the buffer included.
        buffer: At least one record.
        settings: K, how many seeds are taken, and the tokens that their events may fill.

    Returns:
        The active records of the seeds' events, in order of time. Seeds are the K records nearest to the mean of the
        buffer's vectors among those mentioned before the buffer begins; none is of the buffer itself, and a record of
        unknown time is no history.
    """
    shelf = index.records
    first = min((record.mentioned_at for record in buffer if record.mentioned_at), default=None)
    places = [shelf.position(record.record_id) for record in buffer if record.record_id in shelf]
    if first is None or not places:
        return []
    scores = shelf.cosine(shelf.vectors[places].mean(axis=0))
    earlier = np.flatnonzero((shelf.mentioned_at < epoch_seconds(first, 0.0)) & shelf.active)
    ranked = earlier[np.argsort(-scores[earlier], kind="stable")]
    seeds = [shelf.items[place] for place in ranked[: settings.seeds]]
    return _expand([shelf.items[place] for place in earlier], seeds, settings.expand_tokens)


def _expand(earlier: Sequence[Record], seeds: Sequence[Record], room: int) -> list[Record]:
    """Give the whole events of the seeds, the nearest first, as far as they fit."""
    events: dict[str, list[Record]] = {seed.event_id: [] for seed in seeds}
    for record in earlier:
        if record.event_id in events:
            events[record.event_id].append(record)
    chosen: list[Record] = []
    for whole in events.values():
        size = sum(count_tokens(record.content) for record in whole)
        if size <= room:
            chosen.extend(whole)
            room -= size
    return sorted(chosen, key=lambda one: (epoch_seconds(one.mentioned_at, inf), one.session_id, one.seq, one.part))
