"""Read what was decided about clusters, or pair by pair, as rulings that do not get in one another's way.

What a verdict does not say clearly keeps everything. Pair by pair, the result does not depend on the order of the
pairs: a record that any pair supersedes is superseded by the newest that does, and what merges in a chain of pairs
ends in one record. This module does not know how a ruling is carried out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from langgraph_engram.nodes.consolidating.clusters import clusters
from langgraph_engram.prompts.decide_update import UpdateVerdict
from langgraph_engram.schema import Action, Record
from langgraph_engram.state import Pair

NO_VERDICT = "the answer says nothing of them, so nothing changes"
NO_SUCH_MEMBER = "the answer names a memory that is not among them, so nothing changes"
ONE_MEMBER = "the answer names one memory alone, so nothing changes"
NAMED_TWICE = "an earlier verdict is about some of them, so nothing changes"
OTHERS_STAY = "the others stand beside what was decided"
WITH_SUPERSEDED = "one of them is superseded, so they do not merge"


@dataclass(frozen=True)
class Ruling:
    """What becomes of some records."""

    members: tuple[Record, ...]
    """Oldest first, two or more."""
    action: Action
    reason: str = ""
    content: str = ""
    """The text of the record that a merge makes."""


def rule_cluster(records: Sequence[Record], verdicts: Sequence[UpdateVerdict]) -> list[Ruling]:
    """Read the verdicts on one cluster, given oldest first: rulings on distinct members, then one on who stays."""
    rulings: list[Ruling] = []
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
        rulings.append(Ruling(members, verdict.action, verdict.reason, verdict.content.strip()))
    if not rulings:
        return [Ruling(tuple(records), "KEEP_BOTH", notes[0] if notes else NO_VERDICT)]
    gone = {id(one) for ruling in rulings for one in _leaving(ruling)}
    staying = tuple(record for record in records if id(record) not in gone)
    if len(taken) < len(records) and len(staying) > 1:
        rulings.append(Ruling(staying, "KEEP_BOTH", notes[0] if notes else OTHERS_STAY))
    return rulings


def _objection(numbers: Sequence[int], most: int, taken: set[int]) -> str:
    if numbers[0] < 1 or numbers[-1] > most:
        return NO_SUCH_MEMBER
    if len(numbers) < 2:
        return ONE_MEMBER
    return NAMED_TWICE if taken.intersection(numbers) else ""


def _leaving(ruling: Ruling) -> tuple[Record, ...]:
    return ruling.members[:-1] if ruling.action == "SUPERSEDE" else ruling.members


def rule_pairs(decided: Sequence[tuple[Record, Record, UpdateVerdict]]) -> list[Ruling]:
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
            rulings.append(Ruling((older, newer), "KEEP_BOTH", reason))
    return rulings


def _is_gone(by: Mapping[str, object], *records: Record) -> bool:
    return any(record.record_id in by for record in records)


def _supersessions(by: Mapping[str, tuple[Record, Record, UpdateVerdict]]) -> Iterator[Ruling]:
    groups: dict[str, list[tuple[Record, Record, UpdateVerdict]]] = {}
    for one in by.values():
        groups.setdefault(one[1].record_id, []).append(one)
    for group in groups.values():
        olds = sorted((older for older, _, _ in group), key=age)
        yield Ruling((*olds, group[0][1]), "SUPERSEDE", _joined(verdict.reason for _, _, verdict in group))


def _merges(merging: Sequence[tuple[Record, Record, UpdateVerdict]]) -> Iterator[Ruling]:
    known = {record.record_id: record for older, newer, _ in merging for record in (older, newer)}
    links = [Pair(older_id=one.record_id, newer_id=other.record_id, jaccard=0, cosine=0) for one, other, _ in merging]
    for ids in clusters(links):
        members = tuple(sorted((known[one] for one in ids), key=age))
        verdicts = [verdict for older, _, verdict in merging if older.record_id in ids]
        content = _joined(verdict.content.strip() for verdict in verdicts)
        yield Ruling(members, "MERGE", _joined(verdict.reason for verdict in verdicts), content)


def _joined(texts: Iterator[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))


def age(record: Record) -> tuple[datetime, str, int, int, str]:
    """Give a record's place among others, by when it was told: oldest first."""
    told = record.mentioned_at or datetime.min.replace(tzinfo=UTC)
    return told, record.session_id, record.seq, record.part, record.record_id
