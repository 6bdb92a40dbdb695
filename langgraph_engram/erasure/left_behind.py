"""Say what becomes of what is left when something is forgotten: pure functions of what is kept and of what goes.

Events lose turns and get a new name, boundaries new words, and both without asking a model. A record that what goes had
replaced stands again. What has to be drawn, decided or told anew is pending, so that a retry does it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langgraph_engram.erasure.selection import Gone, Held
from langgraph_engram.nodes.consolidating.revise import as_active, as_superseded
from langgraph_engram.nodes.keeping.receive import UNFINISHED, is_cut_off, pend, stored_turns
from langgraph_engram.nodes.segmenting.boundaries import retold
from langgraph_engram.nodes.segmenting.event_names import Namer
from langgraph_engram.schema import Boundary, Event, Pending, Record, Turn
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.stores.kinds import EVENTS

PART_FORGOTTEN = "a part of what it rested on was forgotten"


@dataclass(frozen=True)
class LeftBehind:
    """What is left of a scope, and how it is to stand."""

    held: Held
    gone: Gone
    run_id: str
    """Under which what is to be done again is noted."""
    settings: SegmentSettings

    def events(self) -> list[Event]:
        """Give the events that lose a turn or whose names echo what goes, as they stand without it."""
        lost = {turn.turn_id for turn in self.gone.turns}
        kept = self._kept_events()
        changed = [one for one in kept if not lost.isdisjoint((*one.turn_ids, *one.context_turn_ids))]
        echoing = [one for one in kept if one not in changed and self._echoes(one)]
        return [self._without(event, lost) for event in [*changed, *echoing]]

    def boundaries(self, events: Sequence[Event]) -> list[Boundary]:
        """Give the boundaries beside what goes or changes, told by the names that events have now.

        Args:
            events: The events that change.
        """
        index, gone = self.held.index, {one.boundary_id for one in self.gone.boundaries}
        now = {one.event_id: one for one in [*self._kept_events(), *events]}
        changed = {one.event_id for one in (*events, *self.gone.events)}
        beside = [
            one
            for one in index.boundaries.items
            if one.boundary_id not in gone
            and one.to_event_id in now
            and (
                not changed.isdisjoint((one.from_event_id or "", one.to_event_id))
                or self.gone.echoes(one.session_id, [one.text])
            )
        ]
        return [self._retold(one, now) for one in beside]

    def records(self) -> list[Record]:
        """Give the records that something replaced which goes, as they stand without it.

        Where what goes was replaced in its turn, they stay replaced by that.
        """
        gone = {one.record_id: one for one in self.gone.records}
        return [
            self._freed(one, gone)
            for one in self.held.index.records.items
            if one.record_id not in gone and one.superseded_by in gone
        ]

    def pendings(self, freed: Sequence[Record]) -> list[Pending]:
        """Give what is to be done again: drawn, decided on, told; and what was to be done already of what is left.

        Args:
            freed: The records that stand again.
        """
        parts = {one for record in self.gone.records for one in record.derived_from}
        apart = [one for one in freed if one.status == "active" and one.record_id in parts]
        told = {one for synthesis in self.gone.syntheses for one in synthesis.covered_record_ids}
        gone = {one.record_id for one in self.gone.records}
        cites = [self.held.index.records.get(one) for one in told - gone]
        return [
            *self._undone(),
            *self._pend(self._to_draw(), "extract"),
            *self._pend(_cited(apart), "consolidate"),
            *self._pend(_cited(one for one in cites if one), "synthesize"),
        ]

    def _kept_events(self) -> list[Event]:
        gone = {one.event_id for one in self.gone.events}
        return [one for one in self.held.index.events.items if one.event_id not in gone]

    def _echoes(self, event: Event) -> bool:
        return self.gone.echoes(event.session_id, [event.summary, *event.topics, *event.keywords])

    def _without(self, event: Event, lost: set[str]) -> Event:
        turns = stored_turns(self.held.index, [one for one in event.turn_ids if one not in lost])
        session = [one for one in self.held.index.session_turns(event.session_id) if one.turn_id not in lost]
        left = {
            "turn_ids": [one for one in event.turn_ids if one not in lost],
            "context_turn_ids": [one for one in event.context_turn_ids if one not in lost],
            "started_at": turns[0].said_at if turns else event.started_at,
            "ended_at": turns[-1].said_at if turns else event.ended_at,
        }
        return Namer(session, self.settings).named(event.model_copy(update=left))

    def _retold(self, boundary: Boundary, now: Mapping[str, Event]) -> Boundary:
        later = now[boundary.to_event_id]
        earlier = now.get(boundary.from_event_id or "") or _before(later, now.values())
        first = stored_turns(self.held.index, later.turn_ids)[: self.settings.boundary_side]
        return retold(boundary, earlier, later, first)

    def _freed(self, record: Record, gone: Mapping[str, Record]) -> Record:
        successor, seen = record.superseded_by or "", {record.record_id}
        while successor in gone and successor not in seen:
            seen.add(successor)
            successor = gone[successor].superseded_by or ""
        by = self.held.index.records.get(successor)
        return as_superseded([record], by)[0] if by and by.record_id not in {*gone, *seen} else as_active(record)

    def _undone(self) -> list[Pending]:
        """Give what was pending of turns that go or are not to be drawn from, for the turns beside them."""
        dropped = {turn.turn_id for turn in self.gone.turns} or _cited(self.gone.records)
        return [
            one
            for note in self.gone.pendings
            if not note.waits_for_a_person
            for one in self._pend(
                set(note.turn_ids) - dropped, note.step, UNFINISHED if is_cut_off(note) else PART_FORGOTTEN
            )
        ]

    def _to_draw(self) -> set[str]:
        """Give the turns that lost a record with another turn; what a merge was made of stands again."""
        lost = {turn.turn_id for turn in self.gone.turns}
        if not lost:
            return set()
        return _cited(one for one in self.gone.records if not one.derived_from) - lost

    def _pend(self, turn_ids: Iterable[str], step: str, reason: str = PART_FORGOTTEN) -> list[Pending]:
        """Note turns that are left, session by session."""
        by_session: dict[str, list[Turn]] = {}
        lost = {turn.turn_id for turn in self.gone.turns}
        for turn in stored_turns(self.held.index, [one for one in turn_ids if one not in lost]):
            by_session.setdefault(turn.session_id, []).append(turn)
        return [pend(self.run_id, turns, step, reason) for turns in by_session.values()]


def _before(later: Event, events: Iterable[Event]) -> Event | None:
    """Give the event just before another: of its own session if there is one, else of all."""
    each = list(events)
    own = [one for one in each if one.session_id == later.session_id and one.seq < later.seq]
    others = [
        one for one in each if one.session_id != later.session_id and EVENTS.place_of(one) < EVENTS.place_of(later)
    ]
    return max(own, key=lambda one: one.seq, default=None) or max(others, key=EVENTS.place_of, default=None)


def _cited(records: Iterable[Record]) -> set[str]:
    return {one for record in records for one in record.source_turn_ids}
