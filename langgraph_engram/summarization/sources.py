"""Choose what a synthesis is written from: records of its buffer, and what they go back to (StructMem section 3.3)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from langgraph_engram.results import count_tokens
from langgraph_engram.rule_model.consolidation import centrality, stem_counts
from langgraph_engram.schema import Record
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import by_mention
from langgraph_engram.temporal.datetimes import epoch_seconds


@dataclass(frozen=True)
class SourceLimits:
    """How much a synthesis is written from."""

    seeds: int = 15
    """K, seed records from history (StructMem section 2.2); 0 for the buffer alone."""
    history_tokens: int = 100
    """Tokens of history shown beside the buffer."""
    shown_tokens: int = 380
    """Tokens of a buffer that it is written from."""


LIMITS = SourceLimits()


def history_of(index: ScopeIndex, buffer: Sequence[Record], limits: SourceLimits = LIMITS) -> list[Record]:
    """Return the earlier records that a buffer is summarized beside, in order of time.

    They are the active records of the seeds' utterances (StructMem Eq. 4: those of one timestamp). Seeds are the K
    records nearest to the mean of the buffer's vectors among those mentioned before the buffer begins; none is of the
    buffer itself, and a record of unknown time is no history.
    """
    records = index.records
    first = min((record.mentioned_at for record in buffer if record.mentioned_at), default=None)
    positions = [records.position(record.record_id) for record in buffer if record.record_id in records]
    if first is None or not positions:
        return []
    scores = records.cosine(records.vectors[positions].mean(axis=0))
    known = records.active & ~records.is_passage
    earlier = np.flatnonzero((records.mentioned_at < epoch_seconds(first, 0.0)) & known)
    ranked = earlier[np.argsort(-scores[earlier], kind="stable")]
    seeds = [records.items[position] for position in ranked[: limits.seeds]]
    groups = records.codes("group_utterance", lambda record: repr(_utterance_of(record)))
    beside = earlier[np.isin(groups[earlier], groups[ranked[: limits.seeds]])]
    return _expanded([records.items[position] for position in beside], seeds, limits.history_tokens)


def shown_records(buffer: Sequence[Record], limit: int) -> list[Record]:
    """Return the records of a buffer that a narrative is written from, in their order, of at most `limit` tokens.

    Each event has its first record, then each its next, as far as they fit: what happened at a known time comes before
    what did not, the more central before the less. At least one record is shown.
    """
    if sum(count_tokens(record.content) for record in buffer) <= limit:
        return list(buffer)
    counts = stem_counts(buffer)
    ranked = sorted(
        enumerate(buffer), key=lambda placed: (placed[1].event_start is None, -centrality(placed[1], counts))
    )
    ranks = Counter[str]()
    order: list[tuple[int, int]] = []
    for position, record in ranked:
        order.append((ranks[record.event_id], position))
        ranks[record.event_id] += 1
    chosen: list[int] = []
    for _, position in sorted(order):
        size = count_tokens(buffer[position].content)
        if size <= limit or not chosen:
            chosen.append(position)
            limit -= size
    return [buffer[position] for position in sorted(chosen)]


def _utterance_of(record: Record) -> tuple[str, int]:
    return record.session_id, record.seq


def _expanded(earlier: Sequence[Record], seeds: Sequence[Record], budget: int) -> list[Record]:
    """Return the whole utterances of the seeds, the nearest first, as far as they fit (StructMem Eq. 4)."""
    groups: dict[tuple[str, int], list[Record]] = {_utterance_of(seed): [] for seed in seeds}
    for record in earlier:
        groups[_utterance_of(record)].append(record)
    chosen: list[Record] = []
    for records in groups.values():
        size = sum(count_tokens(record.content) for record in records)
        if size <= budget:
            chosen.extend(records)
            budget -= size
    return sorted(chosen, key=by_mention)
