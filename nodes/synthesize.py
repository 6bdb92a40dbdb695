"""Tell what was remembered as a narrative across events (StructMem section 3.3; DESIGN, step 8).

The buffer is what no synthesis covers yet, so that there is no counter to lose: coverage is the watermark. Seeds come
from history only, and each is expanded to its whole event. A stale synthesis is written anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from langgraph_engram.model import Asked, Model, entry_of
from langgraph_engram.nodes.receive import pend
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.schema import Pending, Record, Synthesis, make_id
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Changes, Store
from langgraph_engram.usage import count_tokens


@dataclass(frozen=True)
class Synthesize:
    """Write syntheses. Reads `request`, `session_id`; sets `synthesis_ids`, adds to `failures`."""

    store: Store
    model: Model
    settings: SynthesisSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Store a synthesis of the buffer when it is due, and new ones in place of those that are stale."""
        scope = state["request"].scope
        index = self.store.index(scope)
        if not self.settings.enabled:
            return {"synthesis_ids": []}
        buffer = uncovered(index, state["session_id"])
        due = self._is_due(buffer, session_closed=is_closed(index, state["session_id"]))
        jobs = [(covered(index, one), one.synthesis_id) for one in index.syntheses.items if one.status == "stale"]
        jobs = [(records, one) for records, one in jobs if records] + ([(buffer, "")] if due else [])
        if not jobs:
            return {"synthesis_ids": []}
        histories = [self._history(index, records) for records, _ in jobs]
        asked = self.model.ask_all(
            [WriteSynthesis(tuple(one), tuple(past)) for (one, _), past in zip(jobs, histories, strict=True)]
        )
        written = [
            _synthesis(scope.key, records, past, one.answer, synthesis_id)
            for (records, synthesis_id), past, one in zip(jobs, histories, asked, strict=True)
            if one.answer
        ]
        failures = self._failures(state, asked)
        self.store.commit(scope, Changes(syntheses=written, pendings=failures))
        ids = [one.synthesis_id for one in written]
        return {"synthesis_ids": ids, "failures": failures, "usage": [entry_of("synthesize", asked)]}

    def _is_due(self, buffer: Sequence[Record], *, session_closed: bool) -> bool:
        if not buffer:
            return False
        times = [record.mentioned_at for record in buffer if record.mentioned_at]
        span = (max(times) - min(times)).total_seconds() if times else 0.0
        return (session_closed and self.settings.at_session_close) or span > self.settings.window_seconds

    def _history(self, index: ScopeIndex, buffer: Sequence[Record]) -> list[Record]:
        """Give the whole events of the seeds: the records before the buffer that are closest to it."""
        shelf = index.records
        vectors = shelf.vectors[[shelf.position(record.record_id) for record in buffer]]
        centre = vectors.mean(axis=0)
        first = min((record.mentioned_at for record in buffer if record.mentioned_at), default=None)
        inside = {record.record_id for record in buffer}
        scores = shelf.cosine(centre)
        order = [
            shelf.items[place]
            for place in np.argsort(-scores, kind="stable")
            if shelf.active[place] and shelf.items[place].record_id not in inside and _before(shelf.items[place], first)
        ]
        return _expand(index, order[: self.settings.seeds], inside, self.settings.expand_tokens)

    def _failures(self, state: WriteState, asked: Sequence[Asked[str]]) -> list[Pending]:
        return [
            pend(state["run_id"], state["turns"], "synthesize", one.failure.reason)
            for one in asked
            if one.failure and state["turns"]
        ]


def is_closed(index: ScopeIndex, session_id: str) -> bool:
    """Say whether a session was closed: its last event is, by this run or, when this one is a retry, by an earlier."""
    events = index.session_events(session_id)
    return bool(events) and events[-1].status == "closed"


def uncovered(index: ScopeIndex, session_id: str) -> list[Record]:
    """Give a session's active records that no synthesis covers, in order of time."""
    done = {one for synthesis in index.syntheses.items for one in synthesis.covered_record_ids}
    found = [one for one in index.records.items if one.session_id == session_id and one.status == "active"]
    return sorted((one for one in found if one.record_id not in done), key=lambda one: (one.seq, one.part))


def covered(index: ScopeIndex, synthesis: Synthesis) -> list[Record]:
    """Give the records that a synthesis covers as they stand now, those that were replaced by what replaced them."""
    found: dict[str, Record] = {}
    for one in synthesis.covered_record_ids:
        record = index.records.get(one)
        while record and record.superseded_by and record.superseded_by in index.records:
            record = index.records.get(record.superseded_by)
        if record and record.status == "active":
            found[record.record_id] = record
    return sorted(found.values(), key=lambda one: (one.session_id, one.seq, one.part))


def _expand(index: ScopeIndex, seeds: Sequence[Record], inside: set[str], room: int) -> list[Record]:
    chosen: list[Record] = []
    events: set[str] = set()
    for seed in seeds:
        if seed.event_id in events:
            continue
        events.add(seed.event_id)
        whole = [one for one in index.records.items if one.event_id == seed.event_id and one.status == "active"]
        size = sum(count_tokens(one.content) for one in whole)
        if size <= room:
            chosen.extend(one for one in whole if one.record_id not in inside)
            room -= size
    return sorted(chosen, key=lambda one: (str(one.mentioned_at), one.session_id, one.seq, one.part))


def _before(record: Record, moment: datetime | None) -> bool:
    return moment is None or record.mentioned_at is None or record.mentioned_at < moment


def _synthesis(
    scope_key: str, records: Sequence[Record], past: Sequence[Record], text: str, synthesis_id: str
) -> Synthesis:
    times = [record.mentioned_at for record in records if record.mentioned_at]
    ids = [record.record_id for record in records]
    return Synthesis(
        synthesis_id=synthesis_id or make_id(scope_key, "synthesis", *ids),
        text=text,
        window_start=min(times, default=None),
        window_end=max(times, default=None),
        covered_record_ids=ids,
        seed_event_ids=list(dict.fromkeys(record.event_id for record in past)),
    )
