"""Find the earlier records that a synthesis goes back to (StructMem section 3.3)."""

from collections.abc import Sequence

import numpy as np

from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Record
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import by_mention
from langgraph_engram.temporal.datetimes import epoch_seconds


def history_of(index: ScopeIndex, buffer: Sequence[Record], settings: SynthesisSettings) -> list[Record]:
    """Return the earlier records that a buffer is summarized beside.

    Args:
        index: What is stored of the scope, the buffer included.
        buffer: At least one record.
        settings: K, how many seeds are taken, and the tokens that their events may fill.

    Returns:
        The active records of the seeds' events, in order of time. Seeds are the K records nearest to the mean of the
        buffer's vectors among those mentioned before the buffer begins; none is of the buffer itself, and a record of
        unknown time is no history.
    """
    records = index.records
    first = min((record.mentioned_at for record in buffer if record.mentioned_at), default=None)
    positions = [records.position(record.record_id) for record in buffer if record.record_id in records]
    if first is None or not positions:
        return []
    scores = records.cosine(records.vectors[positions].mean(axis=0))
    earlier = np.flatnonzero((records.mentioned_at < epoch_seconds(first, 0.0)) & records.active)
    ranked = earlier[np.argsort(-scores[earlier], kind="stable")]
    seeds = [records.items[position] for position in ranked[: settings.seeds]]
    return _whole_events([records.items[position] for position in earlier], seeds, settings.expand_tokens)


def _whole_events(earlier: Sequence[Record], seeds: Sequence[Record], budget: int) -> list[Record]:
    """Return the whole events of the seeds, the nearest first, as far as they fit."""
    events: dict[str, list[Record]] = {seed.event_id: [] for seed in seeds}
    for record in earlier:
        if record.event_id in events:
            events[record.event_id].append(record)
    chosen: list[Record] = []
    for records in events.values():
        size = sum(count_tokens(record.content) for record in records)
        if size <= budget:
            chosen.extend(records)
            budget -= size
    return sorted(chosen, key=by_mention)
