"""Decide which syntheses are due: stale ones; `papers/structmem.py` adds those of windows (StructMem section 2.2).

What is new is what no synthesis covers yet, so that there is no counter to lose: coverage is the watermark. A stale
synthesis is due at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf

from langgraph_engram.schema import Record, Synthesis
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds


@dataclass(frozen=True)
class SynthesisJob:
    """One synthesis to write."""

    records: tuple[Record, ...]
    """What it covers: active, in order of time, at least one."""
    synthesis: Synthesis | None = None
    """The stale one that it replaces."""


@dataclass(frozen=True)
class Scheduler:
    """Decide which syntheses are due: those that are stale, and still cover something."""

    settings: SynthesisSettings
    writes_new: bool = False
    """Whether a run may have new ones to write, or notes to take."""

    def has_work(self, index: ScopeIndex, changed: Sequence[Synthesis]) -> bool:
        """Return whether a run that changes these syntheses may have any to write."""
        is_stale = any(synthesis.status == "stale" for synthesis in [*index.syntheses.items, *changed])
        return self.settings.enabled and (self.writes_new or is_stale)

    def jobs(self, index: ScopeIndex) -> list[SynthesisJob]:
        """Return the syntheses that are due."""
        stale = [synthesis for synthesis in index.syntheses.items if synthesis.status == "stale"]
        jobs = (SynthesisJob(tuple(records), old) for old in stale if (records := _covered_records(index, old)))
        return [*jobs] if self.settings.enabled else []


def changed_syntheses(index: ScopeIndex, written: Sequence[Record]) -> list[Synthesis]:
    """Return the active syntheses that cover a record which is written with another status.

    A narrative is stale then. A note tells of a day, whatever changed later, and covers as well what its records were
    merged into.
    """
    by_id = {record.record_id: record for record in written}
    stored = {key: index.records.get(key) for key in by_id}
    changed = {key: by_id[key] for key, old in stored.items() if old and old.status != by_id[key].status}
    found: list[Synthesis] = []
    for synthesis in index.syntheses.items if changed else ():
        covered = [changed[record_id] for record_id in synthesis.covered_record_ids if record_id in changed]
        merged = [record.superseded_by for record in covered if record.status == "merged" and record.superseded_by]
        if synthesis.status != "active" or not covered:
            continue
        if not synthesis.session_id:
            found.append(synthesis.model_copy(update={"status": "stale"}))
        elif merged:
            ids = list(dict.fromkeys([*synthesis.covered_record_ids, *merged]))
            found.append(synthesis.model_copy(update={"covered_record_ids": ids}))
    return found


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
    """Return a synthesis as stale if a record that it covers has changed since it was asked for."""
    now = (index.records.get(record.record_id) for record in job.records)
    is_so = all(record and record.status == "active" for record in now)
    return synthesis if is_so else synthesis.model_copy(update={"status": "stale"})


def by_mention(record: Record) -> tuple[float, str, int, int]:
    """Return the key that sorts records by when they were mentioned; those of unknown time come last."""
    return epoch_seconds(record.mentioned_at, inf), record.session_id, record.seq, record.part


def active_in(index: ScopeIndex, session_id: str) -> list[Record]:
    """Return the active records of a session, in order of time, without chunks: none is summarized."""
    stored = index.records.in_session(session_id)
    found = [record for record in stored if record.status == "active" and not record.is_chunk]
    return sorted(found, key=lambda record: (record.seq, record.part))


def is_closed(index: ScopeIndex, session_id: str) -> bool:
    """Return whether a session was closed: its last event is."""
    events = index.session_events(session_id)
    return bool(events) and events[-1].status == "closed"


def _covered_records(index: ScopeIndex, synthesis: Synthesis) -> list[Record]:
    """Return what stands now in place of the records that a synthesis covers, unless another synthesis covers it."""
    others = [other for other in index.syntheses.items if other.synthesis_id != synthesis.synthesis_id]
    elsewhere = {record_id for other in others for record_id in other.covered_record_ids}
    found: dict[str, Record] = {}
    for record_id in synthesis.covered_record_ids:
        found |= {
            record.record_id: record
            for record in _current(index, record_id)
            if record.status == "active" and (record.record_id == record_id or record.record_id not in elsewhere)
        }
    return sorted(found.values(), key=by_mention)


def _current(index: ScopeIndex, record_id: str) -> list[Record]:
    """Return what stands in place of a record: itself, what replaced it, or what an undone merge was made of."""
    record = index.records.get(record_id)
    if record is None or record.status != "archived":
        return [index.records.successor(record) or record] if record else []
    return [part for derived_id in record.derived_from if (part := index.records.get(derived_id))]


def span(records: Iterable[Record]) -> timedelta:
    """Return the time between the first mention and the last; zero where no time is known."""
    times = [record.mentioned_at for record in records if record.mentioned_at]
    return max(times) - min(times) if times else timedelta(0)
