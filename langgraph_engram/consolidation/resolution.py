"""Turn verdicts on clusters or pairs into resolutions that do not contradict one another, and these into proposals.

What a verdict does not say clearly keeps everything. Pair by pair, the result does not depend on the order of the
pairs: a record that any pair supersedes is superseded by the newest that does, what merges in a chain of pairs ends in
one record, and conflicts are between records that stay. A merge that would lose a cited source, that says what its
sources do not, or that makes one of two events is refused.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from langgraph_engram.consolidation.merging import merged, objection_to_merge
from langgraph_engram.extraction.evidence import verify_record
from langgraph_engram.pending import stored_turns
from langgraph_engram.prompts.decide_update import UpdateVerdict, UpdateVerdicts
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Action, Decision, Event, Pair, Proposal, Record, make_id
from langgraph_engram.settings import UpdateSettings, VerifySettings
from langgraph_engram.stores.index import ScopeIndex

NO_VERDICT = "the answer says nothing of them, so nothing changes"
NO_SUCH_MEMBER = "the answer names a memory that is not among them, so nothing changes"
ONE_MEMBER = "the answer names one memory alone, so nothing changes"
NAMED_TWICE = "an earlier verdict is about some of them, so nothing changes"
OTHERS_STAY = "the others stand beside what was decided"
WITH_REPLACED = "something else takes the place of one of them"
LINE_TOKENS = 25
"""Tokens of what stands around a record's content in a question: its number, its day and its dimensions."""

Cluster: TypeAlias = tuple[Record, ...]
"""Records that resemble one another, oldest first."""
ClusterBatch: TypeAlias = tuple[Cluster, ...]
"""Clusters that share a question."""
_PairVerdict: TypeAlias = tuple[Record, Record, UpdateVerdict]
"""An older record, a newer one, and what was answered of them."""


def clusters_of(
    pairs: Sequence[Pair], own: Mapping[str, Record], index: ScopeIndex, settings: UpdateSettings
) -> list[Cluster]:
    """Return what is decided on together: the connected records, or each pair alone.

    Args:
        pairs: The near-duplicates.
        own: The run's records by id; others are looked up in the index.
        index: What is stored of the scope.
        settings: How large a cluster may be, or whether pairs are asked about one by one.
    """
    if settings.ask == "pairs":
        linked = [[pair.older_id, pair.newer_id] for pair in pairs]
    else:
        linked = connected_ids(pairs, settings.max_cluster)
    found = (
        [record for record_id in ids if (record := own.get(record_id) or index.records.get(record_id))]
        for ids in linked
    )
    return [tuple(sorted(group, key=by_age)) for group in found if len(group) > 1]


def batch_clusters(clusters: Sequence[Cluster], settings: UpdateSettings) -> list[ClusterBatch]:
    """Return the clusters in batches of at most `call_tokens`, or of one cluster."""
    batches: list[list[Cluster]] = []
    held = 0
    for cluster in clusters:
        size = sum(count_tokens(record.content) + LINE_TOKENS for record in cluster)
        if not batches or settings.ask == "pairs" or held + size > settings.call_tokens:
            batches.append([])
            held = 0
        batches[-1].append(cluster)
        held += size
    return [tuple(batch) for batch in batches]


def connected_ids(pairs: Sequence[Pair], most: int | None = None) -> list[list[str]]:
    """Return the connected sets of records (union-find).

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
    for pair in sorted(pairs, key=lambda pair: (-pair.cosine, -pair.jaccard, pair.older_id, pair.newer_id)):
        first, second = (members.setdefault(record_id, [record_id]) for record_id in (pair.older_id, pair.newer_id))
        if first is second or (most is not None and len(first) + len(second) > most):
            continue
        joined = [*first, *second]
        members |= dict.fromkeys(joined, joined)
    distinct = {id(cluster): sorted(cluster) for cluster in members.values() if len(cluster) > 1}
    return sorted(distinct.values())


def by_age(record: Record) -> tuple[datetime, str, int, int, str]:
    """Return the key that sorts records by when they were mentioned, oldest first."""
    mentioned_at = record.mentioned_at or datetime.min.replace(tzinfo=UTC)
    return mentioned_at, record.session_id, record.seq, record.part, record.record_id


@dataclass(frozen=True)
class Resolution:
    """What becomes of some records."""

    members: tuple[Record, ...]
    """Oldest first, two or more."""
    action: Action
    reason: str = ""
    content: str = ""
    """The text of the record that a merge makes."""


def resolve(answered: Sequence[tuple[ClusterBatch, UpdateVerdicts]], settings: UpdateSettings) -> list[Resolution]:
    """Return what becomes of the clusters of each answered batch."""
    if settings.ask == "pairs":
        return resolve_pairs([(older, newer, _pair_verdict(answer)) for ((older, newer),), answer in answered])
    return [
        resolution
        for batch, answer in answered
        for number, cluster in enumerate(batch, start=1)
        for resolution in resolve_cluster(
            cluster, [verdict for verdict in answer.verdicts if verdict.cluster == number]
        )
    ]


def resolve_cluster(records: Sequence[Record], verdicts: Sequence[UpdateVerdict]) -> list[Resolution]:
    """Resolve the verdicts on one cluster, given oldest first: on distinct members, then on those that stay."""
    resolutions: list[Resolution] = []
    notes: list[str] = []
    taken: set[int] = set()
    gone: set[int] = set()
    for verdict in verdicts:
        numbers = sorted(set(verdict.members)) or list(range(1, len(records) + 1))
        replaced = _replaced(numbers, verdict.action)
        objection = _objection(numbers, len(records)) or (NAMED_TWICE if gone & {*numbers} or taken & replaced else "")
        if objection or verdict.action == "KEEP_BOTH":
            notes.append(objection or verdict.reason)
            continue
        taken.update(numbers)
        gone |= replaced
        members = tuple(records[number - 1] for number in numbers)
        resolutions.append(Resolution(members, verdict.action, verdict.reason, verdict.content.strip()))
    if not resolutions:
        return [Resolution(tuple(records), "KEEP_BOTH", notes[0] if notes else NO_VERDICT)]
    staying = tuple(record for number, record in enumerate(records, start=1) if number not in gone)
    if len(taken) < len(records) and len(staying) > 1:
        resolutions.append(Resolution(staying, "KEEP_BOTH", notes[0] if notes else OTHERS_STAY))
    return resolutions


def resolve_pairs(decided: Sequence[_PairVerdict]) -> list[Resolution]:
    """Resolve the verdicts on pairs of original records, the same for every order of pairs."""
    pairs = sorted(decided, key=lambda pair: (by_age(pair[0]), by_age(pair[1])))
    superseding = {
        older.record_id: (older, newer, verdict) for older, newer, verdict in pairs if verdict.action == "SUPERSEDE"
    }  # sorted: the newest that supersedes it comes last
    merging = [
        (older, newer, verdict)
        for older, newer, verdict in pairs
        if verdict.action == "MERGE"
        and verdict.content.strip()
        and superseding.keys().isdisjoint((older.record_id, newer.record_id))
    ]
    merged_ids = {record.record_id for older, newer, _ in merging for record in (older, newer)}
    resolutions = [*_supersessions(superseding), *_merges(merging)]
    resolved = {frozenset((older.record_id, newer.record_id)) for older, newer, _ in [*superseding.values(), *merging]}
    for older, newer, verdict in pairs:
        ids = frozenset((older.record_id, newer.record_id))
        if ids in resolved:
            continue
        stay = ids.isdisjoint(superseding) and ids.isdisjoint(merged_ids)
        action: Action = "CONFLICT" if verdict.action == "CONFLICT" and stay else "KEEP_BOTH"
        reason = verdict.reason if verdict.action in (action, "KEEP_BOTH") else WITH_REPLACED
        resolutions.append(Resolution((older, newer), action, reason))
    return resolutions


@dataclass(frozen=True)
class Proposer:
    """Make proposals of resolutions."""

    run_id: str
    index: ScopeIndex
    events: Sequence[Event]
    pairs: Sequence[Pair]
    verify: VerifySettings
    """How a merged text is verified against its sources."""

    def propose(self, resolution: Resolution) -> Proposal:
        """Return a resolution as a decision to carry out; a merge that must not be keeps everything, and says why."""
        if resolution.action == "MERGE":
            made = merged(resolution.members, resolution.content)
            objection = objection_to_merge(resolution.members, made) or self._unsupported(made)
            if objection:
                return Proposal(decision=self._decision(resolution, "KEEP_BOTH", objection, None))
            decision = self._decision(resolution, "MERGE", resolution.reason, made.record_id)
            return Proposal(decision=decision, content=made.content)
        result = resolution.members[-1].record_id if resolution.action == "SUPERSEDE" else None
        return Proposal(decision=self._decision(resolution, resolution.action, resolution.reason, result))

    def _unsupported(self, made: Record) -> str:
        """Return what a merged text says that its sources do not; empty if there is nothing."""
        if not self.verify.enabled:
            return ""
        sources = stored_turns(self.index, made.source_turn_ids)
        cited = {turn.turn_id for turn in sources}
        events = {event.event_id: event for event in [*self.index.events.items, *self.events]}
        nearby = [turn_id for event in events.values() if cited & {*event.turn_ids} for turn_id in event.turn_ids]
        return verify_record(made, sources, stored_turns(self.index, nearby), self.verify).reject_reason

    def _decision(self, resolution: Resolution, action: Action, reason: str, result_id: str | None) -> Decision:
        ids = [record.record_id for record in resolution.members]
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


def _pair_verdict(answer: UpdateVerdicts) -> UpdateVerdict:
    """Return the verdict on a pair; where there is none, both stay."""
    verdicts = (verdict for verdict in answer.verdicts if verdict.cluster == 1)
    return next(verdicts, UpdateVerdict(action="KEEP_BOTH", reason=NO_VERDICT))


def _objection(numbers: Sequence[int], most: int) -> str:
    if numbers[0] < 1 or numbers[-1] > most:
        return NO_SUCH_MEMBER
    return ONE_MEMBER if len(numbers) < 2 else ""


def _replaced(numbers: Sequence[int], action: Action) -> set[int]:
    """Return the members, oldest first, whose place another record takes."""
    match action:
        case "MERGE":
            return {*numbers}
        case "SUPERSEDE":
            return {*numbers[:-1]}
    return set()


def _supersessions(superseding: Mapping[str, _PairVerdict]) -> Iterator[Resolution]:
    groups: dict[str, list[_PairVerdict]] = {}
    for pair in superseding.values():
        groups.setdefault(pair[1].record_id, []).append(pair)
    for group in groups.values():
        olds = sorted((older for older, _, _ in group), key=by_age)
        newest = group[0][1]
        yield Resolution((*olds, newest), "SUPERSEDE", _joined(verdict.reason for _, _, verdict in group))


def _merges(merging: Sequence[_PairVerdict]) -> Iterator[Resolution]:
    known = {record.record_id: record for older, newer, _ in merging for record in (older, newer)}
    links = [
        Pair(older_id=older.record_id, newer_id=newer.record_id, jaccard=0, cosine=0) for older, newer, _ in merging
    ]
    for ids in connected_ids(links):
        members = tuple(sorted((known[record_id] for record_id in ids), key=by_age))
        verdicts = [verdict for older, _, verdict in merging if older.record_id in ids]
        content = _joined(verdict.content.strip() for verdict in verdicts)
        yield Resolution(members, "MERGE", _joined(verdict.reason for verdict in verdicts), content)


def _joined(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))
