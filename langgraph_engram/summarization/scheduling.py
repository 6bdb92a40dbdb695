"""Say which syntheses are due (StructMem section 3.3; DESIGN, step 8).

The buffer is what no synthesis covers yet, so that there is no counter to lose: coverage is the watermark. A buffer is
told in parts that a model can take in, and every record of it is told. A stale synthesis is due at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from math import inf

import numpy as np

from langgraph_engram.pending import pending_task, turns_under
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Event, PendingTask, Record, Synthesis, Turn
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds


@dataclass(frozen=True)
class SynthesisJob:
    """One synthesis to write."""

    records: tuple[Record, ...]
    """What it tells: active, in order of time, at least one."""
    synthesis: Synthesis | None = None
    """The stale one whose place it takes."""


@dataclass(frozen=True)
class SynthesisState:
    """The memories of a scope as they are stored, with what a run is about to write on top."""

    index: ScopeIndex
    events: Sequence[Event] = ()
    records: Sequence[Record] = ()
    syntheses: Sequence[Synthesis] = ()
    _written: dict[str, Record] = field(init=False)

    def __post_init__(self) -> None:
        """Lay out what is written by its ids."""
        object.__setattr__(self, "_written", {one.record_id: one for one in self.records})

    def record(self, record_id: str) -> Record | None:
        """Give a record by its id."""
        return self._written.get(record_id) or self.index.records.get(record_id)

    def active_in(self, session_id: str) -> list[Record]:
        """Give the active records of a session, in order of time."""
        stored = [one for one in self.index.records.in_session(session_id) if one.record_id not in self._written]
        found = [one for one in [*stored, *self._written.values()] if one.session_id == session_id]
        return sorted((one for one in found if one.status == "active"), key=lambda one: (one.seq, one.part))

    def all_syntheses(self) -> list[Synthesis]:
        """Give the syntheses, in the order they were first written."""
        written = {one.synthesis_id: one for one in self.syntheses}
        return [written.get(one.synthesis_id, one) for one in self.index.syntheses.items]

    def is_closed(self, session_id: str) -> bool:
        """Say whether a session was closed: its last event is, by this run or by an earlier one."""
        events = {one.event_id: one for one in [*self.index.events.in_session(session_id), *self.events]}
        own = [one for one in events.values() if one.session_id == session_id]
        return bool(own) and max(own, key=lambda one: one.seq).status == "closed"


def due_jobs(standing: SynthesisState, session_ids: Iterable[str], settings: SynthesisSettings) -> list[SynthesisJob]:
    """Give the syntheses that are due in a run about sessions: all stale ones of the scope, then each session's own."""
    if not settings.enabled:
        return []
    jobs = stale_jobs(standing)
    told = {record.record_id for job in jobs for record in job.records}
    for session_id in session_ids:
        buffer = [one for one in uncovered(standing, session_id) if one.record_id not in told]
        closed = settings.at_session_close and standing.is_closed(session_id)
        jobs += [SynthesisJob(tuple(part)) for part in parts_due(buffer, settings, closed=closed)]
    return jobs


def stale_jobs(standing: SynthesisState) -> list[SynthesisJob]:
    """Give the stale syntheses of a scope that have something left to tell."""
    outdated = [one for one in standing.all_syntheses() if one.status == "stale"]
    return [SynthesisJob(tuple(records), one) for one in outdated if (records := covered(standing, one))]


def uncovered(standing: SynthesisState, session_id: str) -> list[Record]:
    """Give a session's active records, of whatever kind, that no synthesis covers, in order of time."""
    done = {one for synthesis in standing.all_syntheses() for one in synthesis.covered_record_ids}
    return [one for one in standing.active_in(session_id) if one.record_id not in done]


def covered(standing: SynthesisState, synthesis: Synthesis) -> list[Record]:
    """Give the records that a synthesis covers as they stand now.

    What was replaced is told by what replaced it, unless another synthesis tells that; what was taken back, by what it
    was made of.
    """
    elsewhere = {
        one
        for other in standing.all_syntheses()
        if other.synthesis_id != synthesis.synthesis_id
        for one in other.covered_record_ids
    }
    found: dict[str, Record] = {}
    for one in synthesis.covered_record_ids:
        record, seen = standing.record(one), {one}
        while record and record.superseded_by and record.superseded_by not in seen:
            seen.add(record.superseded_by)
            record = standing.record(record.superseded_by)
        parts = [record] if record and record.status != "archived" else restored(standing, record)
        found |= {
            part.record_id: part
            for part in parts
            if part.status == "active" and (part.record_id == one or part.record_id not in elsewhere)
        }
    return sorted(
        found.values(), key=lambda one: (epoch_seconds(one.mentioned_at, inf), one.session_id, one.seq, one.part)
    )


def restored(standing: SynthesisState, record: Record | None) -> list[Record]:
    """Give what a record that was taken back had been made of."""
    made_of = (standing.record(one) for one in record.derived_from) if record else ()
    return [one for one in made_of if one]


def parts_due(buffer: Sequence[Record], settings: SynthesisSettings, *, closed: bool) -> list[list[Record]]:
    """Give the parts of a session's buffer that are due, each small enough for one synthesis.

    Args:
        buffer: Records that no synthesis covers, in order.
        settings: By window, each full window of time is a synthesis of its own, as in the paper; else all of a buffer
            that spans more than a window is told together.
        closed: Whether the session has ended, so that nothing is waited for.
    """
    if not buffer:
        return []
    if settings.by_window:
        windows = windows_of(buffer, timedelta(seconds=settings.window_seconds))
        due = windows if closed else windows[:-1]
    else:
        full = sum(count_tokens(record.content) for record in buffer) >= settings.least_buffer
        long = span_of(buffer) > timedelta(seconds=settings.window_seconds)
        due = [list(buffer)] if closed or (full and long) else []
    return [part for one in due for part in shares_of(one, settings.buffer_tokens)]


def span_of(records: Iterable[Record]) -> timedelta:
    """Give the time between the first mention and the last; none where no time is known."""
    times = [record.mentioned_at for record in records if record.mentioned_at]
    return max(times) - min(times) if times else timedelta(0)


def windows_of(records: Sequence[Record], size: timedelta) -> list[list[Record]]:
    """Cut records into windows of time, each from its first record on, both ends included (StructMem section 3.3)."""
    windows: list[list[Record]] = []
    for record in records:
        if windows and span_of([*windows[-1][:1], record]) <= size:
            windows[-1].append(record)
        else:
            windows.append([record])
    return windows


def shares_of(records: Sequence[Record], limit: int) -> list[list[Record]]:
    """Cut records into as few shares of at most `limit` tokens as hold them, about equal; at least one record each."""
    sizes = [count_tokens(record.content) for record in records]
    wanted = -(-sum(sizes) // limit)
    target = min(limit, -(-sum(sizes) // max(wanted, 1)) + max(sizes, default=0))
    shares: list[list[Record]] = []
    held = 0
    for record, size in zip(records, sizes, strict=True):
        if not shares or held + size > target:
            shares.append([])
            held = 0
        shares[-1].append(record)
        held += size
    return shares


def pending_syntheses(
    run_id: str, index: ScopeIndex, jobs: Sequence[SynthesisJob], reasons: Sequence[str], otherwise: Sequence[Turn] = ()
) -> list[PendingTask]:
    """Note each job that has a reason, but those that there is no turn to note on.

    Args:
        run_id: The run that leaves them.
        index: Where the turns are stored.
        jobs: The syntheses.
        reasons: Why each is not written; empty for one that is.
        otherwise: The turns to note a job on whose records rest on none.
    """
    return [
        pending_task(run_id, turns, "synthesize", reason)
        for job, reason in zip(jobs, reasons, strict=True)
        if reason and (turns := turns_under(index, job.records) or otherwise)
    ]


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
