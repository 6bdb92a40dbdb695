"""Read what was decided about clusters, or pair by pair, as rulings that do not get in one another's way.

What a verdict does not say clearly keeps everything. Pair by pair, the result does not depend on the order of the
pairs: a record that any pair supersedes is superseded by the newest that does, and what merges in a chain of pairs
ends in one record. This module does not know how a ruling is carried out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from langgraph_engram.consolidation.merging import merged, objection_to_merge
from langgraph_engram.extraction.evidence import verify_record
from langgraph_engram.pending import stored_turns
from langgraph_engram.prompts.decide_update import UpdateVerdict, UpdateVerdicts
from langgraph_engram.schema import Action, Decision, Event, Pair, Proposal, Record, make_id
from langgraph_engram.settings import VerifySettings
from langgraph_engram.stores.index import ScopeIndex


def clusters(pairs: Sequence[Pair], most: int | None = None) -> list[list[str]]:
    """Give the connected sets of records (union-find).

    Args:
        pairs: The links.
        most: Records of a cluster at most. The closest pairs are joined first, and a pair whose clusters would make
            too large a one joins nothing: a large cluster comes apart at its weakest links. A record all of whose pairs
            lead into full clusters stands in none. The parts meet again when a later record resembles both.

    Returns:
        Lists of two record ids or more, each sorted, in the order of their first id: the same for every order of
        pairs.
    """
    members: dict[str, list[str]] = {}
    for pair in sorted(pairs, key=_closest_first):
        first, second = (members.setdefault(one, [one]) for one in (pair.older_id, pair.newer_id))
        if first is second or (most is not None and len(first) + len(second) > most):
            continue
        joined = [*first, *second]
        members |= dict.fromkeys(joined, joined)
    distinct = {id(cluster): sorted(cluster) for cluster in members.values() if len(cluster) > 1}
    return sorted(distinct.values())


def _closest_first(pair: Pair) -> tuple[float, float, str, str]:
    return -pair.cosine, -pair.jaccard, pair.older_id, pair.newer_id


NO_VERDICT = "the answer says nothing of them, so nothing changes"
NO_SUCH_MEMBER = "the answer names a memory that is not among them, so nothing changes"
ONE_MEMBER = "the answer names one memory alone, so nothing changes"
NAMED_TWICE = "an earlier verdict is about some of them, so nothing changes"
OTHERS_STAY = "the others stand beside what was decided"
WITH_SUPERSEDED = "one of them is superseded, so they do not merge"


@dataclass(frozen=True)
class Resolution:
    """What becomes of some records."""

    members: tuple[Record, ...]
    """Oldest first, two or more."""
    action: Action
    reason: str = ""
    content: str = ""
    """The text of the record that a merge makes."""


def resolve_cluster(records: Sequence[Record], verdicts: Sequence[UpdateVerdict]) -> list[Resolution]:
    """Read the verdicts on one cluster, given oldest first: rulings on distinct members, then one on who stays."""
    rulings: list[Resolution] = []
    notes: list[str] = []
    taken: set[int] = set()
    for verdict in verdicts:
        numbers = sorted(set(verdict.members)) or list(range(1, len(records) + 1))
        note = _objection(numbers, len(records), taken)
        if note or verdict.action == "KEEP_BOTH":
            notes.append(note or verdict.reason)
            continue
        taken.update(numbers)
        members = tuple(records[number - 1] for number in numbers)
        rulings.append(Resolution(members, verdict.action, verdict.reason, verdict.content.strip()))
    if not rulings:
        return [Resolution(tuple(records), "KEEP_BOTH", notes[0] if notes else NO_VERDICT)]
    gone = {id(one) for ruling in rulings for one in _leaving(ruling)}
    staying = tuple(record for record in records if id(record) not in gone)
    if len(taken) < len(records) and len(staying) > 1:
        rulings.append(Resolution(staying, "KEEP_BOTH", notes[0] if notes else OTHERS_STAY))
    return rulings


def _objection(numbers: Sequence[int], most: int, taken: set[int]) -> str:
    if numbers[0] < 1 or numbers[-1] > most:
        return NO_SUCH_MEMBER
    if len(numbers) < 2:
        return ONE_MEMBER
    return NAMED_TWICE if taken.intersection(numbers) else ""


def _leaving(ruling: Resolution) -> tuple[Record, ...]:
    return ruling.members[:-1] if ruling.action == "SUPERSEDE" else ruling.members


def resolve_pairs(decided: Sequence[tuple[Record, Record, UpdateVerdict]]) -> list[Resolution]:
    """Read the verdicts on pairs of original records (older, newer), the same for every order of pairs."""
    pairs = sorted(decided, key=lambda one: (age(one[0]), age(one[1])))
    by: dict[str, tuple[Record, Record, UpdateVerdict]] = {}
    for older, newer, verdict in pairs:
        if verdict.action == "SUPERSEDE":
            by[older.record_id] = (older, newer, verdict)  # sorted: the newest that supersedes it comes last
    merging = [
        one for one in pairs if one[2].action == "MERGE" and one[2].content.strip() and not _is_gone(by, one[0], one[1])
    ]
    rulings = [*_supersessions(by), *_merges(merging)]
    settled = {frozenset((one.record_id, other.record_id)) for one, other, _ in [*by.values(), *merging]}
    for older, newer, verdict in pairs:
        if frozenset((older.record_id, newer.record_id)) not in settled:
            reason = WITH_SUPERSEDED if verdict.action != "KEEP_BOTH" else verdict.reason
            rulings.append(Resolution((older, newer), "KEEP_BOTH", reason))
    return rulings


def _is_gone(by: Mapping[str, object], *records: Record) -> bool:
    return any(record.record_id in by for record in records)


def _supersessions(by: Mapping[str, tuple[Record, Record, UpdateVerdict]]) -> Iterator[Resolution]:
    groups: dict[str, list[tuple[Record, Record, UpdateVerdict]]] = {}
    for one in by.values():
        groups.setdefault(one[1].record_id, []).append(one)
    for group in groups.values():
        olds = sorted((older for older, _, _ in group), key=age)
        yield Resolution((*olds, group[0][1]), "SUPERSEDE", _joined(verdict.reason for _, _, verdict in group))


def _merges(merging: Sequence[tuple[Record, Record, UpdateVerdict]]) -> Iterator[Resolution]:
    known = {record.record_id: record for older, newer, _ in merging for record in (older, newer)}
    links = [Pair(older_id=one.record_id, newer_id=other.record_id, jaccard=0, cosine=0) for one, other, _ in merging]
    for ids in clusters(links):
        members = tuple(sorted((known[one] for one in ids), key=age))
        verdicts = [verdict for older, _, verdict in merging if older.record_id in ids]
        content = _joined(verdict.content.strip() for verdict in verdicts)
        yield Resolution(members, "MERGE", _joined(verdict.reason for verdict in verdicts), content)


def _joined(texts: Iterator[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))


def age(record: Record) -> tuple[datetime, str, int, int, str]:
    """Give a record's place among others, by when it was told: oldest first."""
    told = record.mentioned_at or datetime.min.replace(tzinfo=UTC)
    return told, record.session_id, record.seq, record.part, record.record_id


Cluster: TypeAlias = tuple[Record, ...]
"""Records that resemble one another, oldest first."""


@dataclass(frozen=True)
class Proposer:
    """What a ruling is held against before it is proposed."""

    run_id: str
    index: ScopeIndex
    events: Sequence[Event]
    pairs: Sequence[Pair]
    gate: VerifySettings
    """How a merged text is held against its sources."""

    def propose(self, ruling: Resolution) -> Proposal:
        """Give a ruling as a decision to carry out; a merge that must not be keeps everything, with the reason."""
        if ruling.action == "MERGE":
            made = merged(ruling.members, ruling.content)
            objection = objection_to_merge(ruling.members, made) or self._ungrounded(made)
            if objection:
                return Proposal(decision=self._decision(ruling, "KEEP_BOTH", objection, None))
            return Proposal(
                decision=self._decision(ruling, "MERGE", ruling.reason, made.record_id), content=made.content
            )
        result = ruling.members[-1].record_id if ruling.action == "SUPERSEDE" else None
        return Proposal(decision=self._decision(ruling, ruling.action, ruling.reason, result))

    def _ungrounded(self, made: Record) -> str:
        if not self.gate.enabled:
            return ""
        sources = stored_turns(self.index, made.source_turn_ids)
        cited = {one.turn_id for one in sources}
        events = {event.event_id: event for event in [*self.index.events.items, *self.events]}
        beside = [one for event in events.values() if cited & {*event.turn_ids} for one in event.turn_ids]
        return verify_record(made, sources, stored_turns(self.index, beside), self.gate).reject_reason

    def _decision(self, ruling: Resolution, action: Action, reason: str, result_id: str | None) -> Decision:
        ids = [record.record_id for record in ruling.members]
        inside = [pair for pair in self.pairs if pair.older_id in ids and pair.newer_id in ids]
        return Decision(
            decision_id=make_id("decision", self.run_id, *sorted(ids)),
            run_id=self.run_id,
            pair=ids,
            jaccard=min((pair.jaccard for pair in inside), default=0.0),
            cosine=min((pair.cosine for pair in inside), default=0.0),
            action=action,
            reason=reason,
            result_id=result_id,
            decided_at=datetime.now(UTC),
        )


def groups_of(linked: Sequence[Sequence[str]], own: Mapping[str, Record], index: ScopeIndex) -> list[Cluster]:
    """Give the records of each cluster, oldest first."""
    found = ([record for one in ids if (record := own.get(one) or index.records.get(one))] for ids in linked)
    return [tuple(sorted(group, key=age)) for group in found if len(group) > 1]


def _only(answer: UpdateVerdicts) -> UpdateVerdict:
    """Give the verdict on a pair; where there is none, both stay."""
    effective = (one for one in answer.verdicts if one.cluster == 1)
    return next(effective, UpdateVerdict(action="KEEP_BOTH", reason=NO_VERDICT))
