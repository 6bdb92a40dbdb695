"""Turn verdicts on clusters into resolutions that do not contradict one another, and these into proposals.

What a verdict does not say clearly keeps everything. A merge that would lose a cited source, that makes one of two
events or, where it is verified, says more or less than its sources is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from langgraph_engram.consolidation.merging import decided, merged, objection_to_merge
from langgraph_engram.extraction.evidence import verify_record
from langgraph_engram.pending import stored_turns
from langgraph_engram.prompts.decide_update import SYSTEM, UpdateVerdict, UpdateVerdicts
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Action, Event, Pair, Proposal, Record
from langgraph_engram.segmentation.events import buffers
from langgraph_engram.stores.index import RECORDS, ScopeIndex

NO_VERDICT = "the answer says nothing of them, so nothing changes"
NO_SUCH_MEMBER = "the answer names a memory that is not among them, so nothing changes"
ONE_MEMBER = "the answer names one memory alone, so nothing changes"
NAMED_TWICE = "an earlier verdict is about some of them, so nothing changes"
OTHERS_STAY = "the others stand beside what was decided"
MAX_CLUSTER = 8
"""Records of a cluster; a larger one is split at its weakest links."""
CALL_TOKENS = 1200
"""Tokens of the clusters that share one question; a longer cluster has a question of its own."""
LINE_TOKENS = 25
"""Tokens of what stands around a record's content in a question: its number, its day and its dimensions."""

Cluster: TypeAlias = tuple[Record, ...]
"""Records that resemble one another, oldest first."""
ClusterBatch: TypeAlias = tuple[Cluster, ...]


@dataclass(frozen=True)
class Resolution:
    """What becomes of some records."""

    members: tuple[Record, ...]
    """Oldest first, two or more."""
    action: Action
    reason: str = ""
    content: str = ""
    """The text of the record that a merge makes."""


class ClusterResolver:
    """Decide on clusters of connected records, several of them in a question."""

    rules = SYSTEM
    """What the model is told of the actions."""

    def batches(self, pairs: Sequence[Pair], own: Mapping[str, Record], index: ScopeIndex) -> list[ClusterBatch]:
        """Return the clusters in batches of at most `CALL_TOKENS`, or of one cluster."""
        clusters = clusters_of(connected_ids(pairs, MAX_CLUSTER), own, index)
        sizes = [sum(count_tokens(record.content) + LINE_TOKENS for record in cluster) for cluster in clusters]
        return [tuple(clusters[start:end]) for start, end in buffers(sizes, CALL_TOKENS)]

    def resolve(self, answered: Sequence[tuple[ClusterBatch, UpdateVerdicts]]) -> list[Resolution]:
        """Return what becomes of the clusters of each answered batch."""
        return [
            resolution
            for batch, answer in answered
            for number, cluster in enumerate(batch, start=1)
            for resolution in resolve_cluster(cluster, [said for said in answer.verdicts if said.cluster == number])
        ]


def clusters_of(linked: Iterable[Sequence[str]], own: Mapping[str, Record], index: ScopeIndex) -> list[Cluster]:
    """Return the run's own and the stored records of each set of ids, oldest first; what is gone leaves its cluster."""
    found = ([record for key in ids if (record := own.get(key) or index.records.get(key))] for ids in linked)
    return [tuple(sorted(group, key=RECORDS.sort_key)) for group in found if len(group) > 1]


def connected_ids(pairs: Sequence[Pair], most: int) -> list[list[str]]:
    """Return the connected sets of records (union-find), each sorted, in the order of their first id.

    The closest pairs are joined first, whatever their order, and a pair whose clusters would make one of more than
    `most` records joins nothing: a large cluster comes apart at its weakest links.
    """
    members: dict[str, list[str]] = {}
    for pair in sorted(pairs, key=lambda pair: (-pair.cosine, -pair.jaccard, pair.older_id, pair.newer_id)):
        first, second = (members.setdefault(record_id, [record_id]) for record_id in (pair.older_id, pair.newer_id))
        if first is second or len(first) + len(second) > most:
            continue
        joined = [*first, *second]
        members |= dict.fromkeys(joined, joined)
    distinct = {id(cluster): sorted(cluster) for cluster in members.values() if len(cluster) > 1}
    return sorted(distinct.values())


def resolve_cluster(records: Sequence[Record], verdicts: Sequence[UpdateVerdict]) -> list[Resolution]:
    """Resolve the verdicts on one cluster, given oldest first: on distinct members, then on those that stay."""
    resolutions: list[Resolution] = []
    notes: list[str] = []
    taken: set[int] = set()
    gone: set[int] = set()
    for verdict in verdicts:
        numbers = sorted(set(verdict.members)) or list(range(1, len(records) + 1))
        replaced = {"MERGE": {*numbers}, "SUPERSEDE": {*numbers[:-1]}}.get(verdict.action, set())
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


def _objection(numbers: Sequence[int], most: int) -> str:
    if numbers[0] < 1 or numbers[-1] > most:
        return NO_SUCH_MEMBER
    return ONE_MEMBER if len(numbers) < 2 else ""


@dataclass(frozen=True)
class Proposer:
    """Make proposals of resolutions."""

    run_id: str
    index: ScopeIndex
    events: Sequence[Event]
    pairs: Mapping[frozenset[str], Pair]
    """By the ids of both records."""
    verify: bool
    """Whether a merged text is verified against its sources and its parts."""

    def propose(self, resolution: Resolution) -> Proposal:
        """Return a resolution as a decision to carry out; a merge that must not be keeps everything, and says why."""
        result_id = resolution.members[-1].record_id if resolution.action == "SUPERSEDE" else None
        if resolution.action == "MERGE":
            made = merged(resolution.members, resolution.content)
            if objection := objection_to_merge(resolution.members, made, verify=self.verify) or self._unsupported(made):
                resolution = replace(resolution, action="KEEP_BOTH", reason=objection, content="")
            else:
                result_id = made.record_id
        content = resolution.content if resolution.action == "MERGE" else ""
        members, reason = resolution.members, resolution.reason
        both = combinations([member.record_id for member in members], 2)
        pairs = [pair for ids in both if (pair := self.pairs.get(frozenset(ids)))]
        decision = decided(self.run_id, members, resolution.action, reason, result_id, pairs)
        return Proposal(decision=decision, content=content)

    def _unsupported(self, made: Record) -> str:
        """Return what a merged text says that its sources do not; empty if there is nothing."""
        if not self.verify:
            return ""
        sources = stored_turns(self.index, made.source_turn_ids)
        cited = {turn.turn_id for turn in sources}
        events = {event.event_id: event for event in [*self.index.events.items, *self.events]}
        nearby = [turn_id for event in events.values() if cited & {*event.turn_ids} for turn_id in event.turn_ids]
        return verify_record(made, sources, stored_turns(self.index, nearby)).reject_reason
