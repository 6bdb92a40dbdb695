"""Decide which syntheses are due (StructMem section 3.3).

The buffer is what no synthesis covers yet, so that there is no counter to lose: coverage is the watermark. A buffer is
summarized in parts that a model can take in, and every record of it is covered. A stale synthesis is due at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import chain, islice
from math import inf

import numpy as np

from langgraph_engram.pending import UNFINISHED, cited_turns, pending_task
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.features import record_links
from langgraph_engram.schema import Event, PendingTask, Record, Synthesis, Turn
from langgraph_engram.segmentation.events import buffers
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds
from langgraph_engram.text.tokens import content_stems

MOST_WAITING = 20
"""Sessions whose records wait to be summarized together, at most."""
MIN_BUFFER_TOKENS = 900
BUFFER_TOKENS = 4000
LEAST_TOLD = 0.5
"""Least share of a record's content stems in a narrative that tells it."""


@dataclass(frozen=True)
class SynthesisJob:
    """One synthesis to write."""

    records: tuple[Record, ...]
    """What it covers: active, in order of time, at least one."""
    synthesis: Synthesis | None = None
    """The stale one that it replaces."""


@dataclass(frozen=True)
class ScopeView:
    """The memories of a scope as they are stored, with what a run is about to write on top."""

    index: ScopeIndex
    events: Sequence[Event] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()

    @cached_property
    def _new_records(self) -> dict[str, Record]:
        return {record.record_id: record for record in self.records}

    def record(self, record_id: str) -> Record | None:
        """Return a record by its id."""
        return self._new_records.get(record_id) or self.index.records.get(record_id)

    def active_in(self, session_id: str) -> list[Record]:
        """Return the active records of a session, in order of time, without passages: none is summarized."""
        stored = {record.record_id: record for record in self.index.records.in_session(session_id)}
        new = {key: record for key, record in self._new_records.items() if record.session_id == session_id}
        found = [record for record in (stored | new).values() if record.status == "active" and not record.is_passage]
        return sorted(found, key=lambda record: (record.seq, record.part))

    def all_syntheses(self) -> list[Synthesis]:
        """Return the syntheses, in the order they were first written."""
        new = {synthesis.synthesis_id: synthesis for synthesis in self.syntheses}
        return [new.get(synthesis.synthesis_id, synthesis) for synthesis in self.index.syntheses.items]

    def stale_syntheses(self) -> list[Synthesis]:
        """Return those of `all_syntheses` that are stale."""
        if self.syntheses:
            return [synthesis for synthesis in self.all_syntheses() if synthesis.status == "stale"]
        stored = self.index.syntheses
        stale = stored.column("stale", lambda synthesis: synthesis.status == "stale", np.bool_)
        return [stored.items[position] for position in np.flatnonzero(stale)]

    def is_closed(self, session_id: str) -> bool:
        """Return whether a session was closed: its last event is, by this run or by an earlier one."""
        events = {event.event_id: event for event in [*self.index.events.in_session(session_id), *self.events]}
        own = [event for event in events.values() if event.session_id == session_id]
        return bool(own) and max(own, key=lambda event: event.seq).status == "closed"


@dataclass(frozen=True)
class Scheduler:
    """Decide which syntheses are due."""

    settings: SynthesisSettings
    writes_new: bool = True
    """Whether new ones are written; one that is stale always is."""
    min_tokens: int = MIN_BUFFER_TOKENS
    """Tokens of a buffer from which it is due; a session that ends with fewer waits for the next."""
    most_tokens: int = BUFFER_TOKENS
    """Tokens of buffer in one synthesis; a longer buffer has several."""

    def jobs(self, view: ScopeView, session_ids: Iterable[str]) -> list[SynthesisJob]:
        """Return the syntheses that are due in a run: all stale ones of the scope, then each session's own."""
        if not self.settings.enabled:
            return []
        jobs = stale_jobs(view)
        if not self.writes_new:
            return jobs
        covered = {record.record_id for job in jobs for record in job.records}
        for session_id in session_ids:
            closed = view.is_closed(session_id)
            buffer = self.buffer(view, session_id, closed=closed)
            parts = self.parts([record for record in buffer if record.record_id not in covered], closed=closed)
            covered.update(record.record_id for part in parts for record in part)
            jobs += [SynthesisJob(tuple(part)) for part in parts]
        return jobs

    def tasks(
        self, run_id: str, view: ScopeView, session_ids: Iterable[str], otherwise: Sequence[Turn]
    ) -> list[PendingTask]:
        """Return tasks for the syntheses that are due: a run that is cut off before it writes them may be retried."""
        jobs = self.jobs(view, session_ids)
        return pending_syntheses(run_id, view.index, jobs, [UNFINISHED] * len(jobs), otherwise)

    def buffer(self, view: ScopeView, session_id: str, *, closed: bool) -> list[Record]:
        """Return what a session has to summarize: what no synthesis covers, and what has waited for it once it ends."""
        waiting = _waiting_records(view, session_id) if closed else []
        return [*waiting, *uncovered_records(view, session_id)]

    def parts(self, buffer: Sequence[Record], *, closed: bool) -> list[list[Record]]:
        """Return the parts of a buffer that are due: all of it, if it holds enough and spans a window or has ended."""
        is_full = sum(count_tokens(record.content) for record in buffer) >= self.min_tokens
        is_long = closed or span(buffer) > timedelta(seconds=self.settings.window_seconds)
        return equal_parts(buffer, self.most_tokens) if buffer and is_full and is_long else []


def stale_jobs(view: ScopeView) -> list[SynthesisJob]:
    """Return jobs for the stale syntheses of a scope that still cover something."""
    stale = view.stale_syntheses()
    return [SynthesisJob(tuple(records), old) for old in stale if (records := _covered_records(view, old))]


def pending_syntheses(
    run_id: str, index: ScopeIndex, jobs: Sequence[SynthesisJob], reasons: Sequence[str], otherwise: Sequence[Turn] = ()
) -> list[PendingTask]:
    """Return a task for each job that is not written for some reason, on what its records cite, or `otherwise`."""
    return [
        pending_task(run_id, turns, "synthesize", reason)
        for job, reason in zip(jobs, reasons, strict=True)
        if reason and (turns := cited_turns(index, job.records) or otherwise)
    ]


def changed_syntheses(index: ScopeIndex, written: Sequence[Record]) -> list[Synthesis]:
    """Return the active syntheses that cover a record which is written with another status.

    Each is stale where what it tells has changed; else it covers what its records were merged into as well.
    """
    by_id = {record.record_id: record for record in written}
    stored = {key: index.records.get(key) for key in by_id}
    changed = {key: by_id[key] for key, old in stored.items() if old and old.status != by_id[key].status}
    found: list[Synthesis] = []
    for synthesis in index.syntheses.items if changed else ():
        covered = [changed[record_id] for record_id in synthesis.covered_record_ids if record_id in changed]
        if synthesis.status != "active" or not covered:
            continue
        replaced = [(record, by_id.get(record.superseded_by or "")) for record in covered]
        merged = [made.record_id for _, made in replaced if made]
        if any(is_outdated(synthesis.text, record, made) for record, made in replaced):
            found.append(synthesis.model_copy(update={"status": "stale"}))
        elif merged:
            ids = list(dict.fromkeys([*synthesis.covered_record_ids, *merged]))
            found.append(synthesis.model_copy(update={"covered_record_ids": ids}))
    return found


def is_outdated(text: str, record: Record, replacement: Record | None = None) -> bool:
    """Return whether a narrative has to be told anew, now that a record which it covers has this status.

    A record that it left out changes nothing when it goes, nor does a merge into what adds nothing to the narrative.
    """
    if record.status == "active":
        return True
    told, stems = frozenset(content_stems(text)), frozenset(content_stems(record.content))
    if len(stems & told) < LEAST_TOLD * len(stems):
        return False
    merged_into = replacement if record.status == "merged" else None
    return merged_into is None or not told.issuperset(content_stems(merged_into.content))


def is_covered_elsewhere(synthesis: Synthesis, index: ScopeIndex) -> bool:
    """Return whether other syntheses cover all that a new one covers."""
    others = [stored for stored in index.syntheses.items if stored.synthesis_id != synthesis.synthesis_id]
    covered = {record_id for other in others for record_id in other.covered_record_ids}
    return synthesis.synthesis_id not in index.syntheses and covered.issuperset(synthesis.covered_record_ids)


def covers_deleted(synthesis: Synthesis, before: ScopeIndex, now: ScopeIndex) -> bool:
    """Return whether something that a new synthesis covers, or goes back to, was forgotten while it was written."""
    records, events = synthesis.covered_record_ids, synthesis.seed_event_ids
    return any(record_id in before.records and record_id not in now.records for record_id in records) or any(
        event_id in before.events and event_id not in now.events for event_id in events
    )


def with_current_status(job: SynthesisJob, synthesis: Synthesis, index: ScopeIndex) -> Synthesis:
    """Return a synthesis as stale if a record that it tells has changed since it was asked for."""
    now = [index.records.get(record.record_id) for record in job.records]
    is_told_anew = any(
        record is None or (record.status != "active" and is_outdated(synthesis.text, record)) for record in now
    )
    return synthesis.model_copy(update={"status": "stale"}) if is_told_anew else synthesis


def by_mention(record: Record) -> tuple[float, str, int, int]:
    """Return the key that sorts records by when they were mentioned; those of unknown time come last."""
    return epoch_seconds(record.mentioned_at, inf), record.session_id, record.seq, record.part


def equal_parts(records: Sequence[Record], limit: int) -> list[list[Record]]:
    """Cut records into as few parts of at most `limit` tokens as hold them, about equal; at least one record each."""
    sizes = [count_tokens(record.content) for record in records]
    wanted = -(-sum(sizes) // limit)
    target = min(limit, -(-sum(sizes) // max(wanted, 1)) + max(sizes, default=0))
    return [list(records[start:end]) for start, end in buffers(sizes, target)]


def uncovered_records(view: ScopeView, session_id: str) -> list[Record]:
    """Return a session's active records, of whatever kind, that no synthesis covers, in order of time."""
    index = view.index
    changed = [synthesis for synthesis in view.syntheses if synthesis.synthesis_id in index.syntheses]
    outdated = [index.syntheses.position(synthesis.synthesis_id) for synthesis in changed]
    covered, by = record_links(index).narrated
    is_covered = np.zeros(len(index.records) + 1, dtype=np.bool_)  # the last is that of records not stored yet
    is_covered[covered[~np.isin(by, outdated)]] = True
    known = {record_id for synthesis in changed for record_id in synthesis.covered_record_ids}
    return [
        record
        for record in view.active_in(session_id)
        if record.record_id not in known and not is_covered[index.records.find_position(record.record_id)]
    ]


def _sessions_before(view: ScopeView, session_id: str) -> Iterator[str]:
    """Yield the other sessions, the one with the newest event first; no more events are read than are needed."""
    known = {session_id}
    new = (event for event in reversed(view.events) if event.event_id not in view.index.events)
    for event in chain(new, reversed(view.index.events.items)):
        if event.session_id not in known:
            known.add(event.session_id)
            yield event.session_id


def _waiting_records(view: ScopeView, session_id: str) -> list[Record]:
    """Return the records of the sessions before one that waited for it: back to the last that anything covers."""
    waiting: list[Record] = []
    for other in islice(_sessions_before(view, session_id), MOST_WAITING):
        own, uncovered = view.active_in(other), uncovered_records(view, other)
        if not view.is_closed(other) or len(uncovered) < len(own):
            break
        waiting += uncovered
    return sorted(waiting, key=by_mention)


def _covered_records(view: ScopeView, synthesis: Synthesis) -> list[Record]:
    """Return the records that a synthesis covers as they stand now.

    In place of a record that was replaced stands what replaced it, unless another synthesis covers that; in place of a
    merge that was undone, what it had been made of.
    """
    elsewhere = {
        record_id
        for other in view.all_syntheses()
        if other.synthesis_id != synthesis.synthesis_id
        for record_id in other.covered_record_ids
    }
    found: dict[str, Record] = {}
    for record_id in synthesis.covered_record_ids:
        found |= {
            record.record_id: record
            for record in _current(view, record_id)
            if record.status == "active" and (record.record_id == record_id or record.record_id not in elsewhere)
        }
    return sorted(found.values(), key=by_mention)


def _current(view: ScopeView, record_id: str) -> list[Record]:
    """Return what stands in place of a record: itself, what replaced it, or what an undone merge was made of."""
    record, seen = view.record(record_id), {record_id}
    while record and record.superseded_by and record.superseded_by not in seen:
        seen.add(record.superseded_by)
        record = view.record(record.superseded_by)
    if record is None or record.status != "archived":
        return [record] if record else []
    return [part for derived_id in record.derived_from if (part := view.record(derived_id))]


def span(records: Iterable[Record]) -> timedelta:
    """Return the time between the first mention and the last; zero where no time is known."""
    times = [record.mentioned_at for record in records if record.mentioned_at]
    return max(times) - min(times) if times else timedelta(0)
