"""Decide what becomes of records that resemble one another (DimMem section 3.4). Nothing is changed here.

Clusters share questions, up to a token size; the paper's way asks pair by pair. A merge that would lose a cited source,
that says what its sources do not, or that makes one of two events is refused, and everything is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from langgraph_engram.model import Asked, Model, entry_of
from langgraph_engram.nodes.consolidating.approve_updates import require_checkpointer
from langgraph_engram.nodes.consolidating.clusters import clusters
from langgraph_engram.nodes.consolidating.revise import merged, objection_to_merge
from langgraph_engram.nodes.consolidating.rulings import NO_VERDICT, Ruling, age, rule_cluster, rule_pairs
from langgraph_engram.nodes.extracting.ground import judge
from langgraph_engram.nodes.keeping.receive import pend, stored_turns
from langgraph_engram.nodes.keeping.source_turns import turns_under
from langgraph_engram.prompts.decide_update import DecideUpdate, UpdateVerdict, UpdateVerdicts
from langgraph_engram.schema import Action, Decision, Event, Pending, Record, make_id
from langgraph_engram.settings import GroundSettings, UpdateSettings
from langgraph_engram.state import Pair, Proposal, WriteState
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Store
from langgraph_engram.usage import count_tokens

LINE_TOKENS = 12
"""Tokens of what stands around a memory in a question."""
Cluster: TypeAlias = tuple[Record, ...]
"""Records that resemble one another, oldest first."""
Pack: TypeAlias = tuple[Cluster, ...]
"""Clusters that share a question."""


@dataclass(frozen=True)
class Consolidate:
    """Decide on look-alikes. Reads `request`, `records`, `pairs`; sets `proposals`, adds to `failures`."""

    store: Store
    model: Model
    settings: UpdateSettings
    gate: GroundSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return what is to become of the look-alikes, and the turns whose look-alikes could not be decided on."""
        index = self.store.index(state["request"].scope)
        own = {record.record_id: record for record in state["records"]}
        packs = self._packs(groups_of(self._linked(state["pairs"]), own, index))
        if not packs:
            return {"proposals": []}
        if self.settings.approve:
            require_checkpointer()
        asked = self.model.ask_all([DecideUpdate(pack) for pack in packs])
        answered = [(pack, one.answer) for pack, one in zip(packs, asked, strict=True) if one.answer is not None]
        failed = [(pack, one) for pack, one in zip(packs, asked, strict=True) if one.failure]
        judges = Judges(state["run_id"], index, state.get("events", []), state["pairs"], self.gate)
        return {
            "proposals": [self._marked(judges.propose(ruling)) for ruling in self._rulings(answered)],
            "failures": failures_of(state["run_id"], own, index, failed),
            "usage": [entry_of("consolidate", asked)],
        }

    def _marked(self, proposal: Proposal) -> Proposal:
        """Say of a proposal whether it waits for a person: the run may go on under other settings."""
        return proposal.model_copy(update={"waits": proposal.decision.action in self.settings.approve})

    def _linked(self, pairs: Sequence[Pair]) -> list[list[str]]:
        if self.settings.ask == "pairs":
            return [[pair.older_id, pair.newer_id] for pair in pairs]
        return clusters(pairs, self.settings.max_cluster)

    def _packs(self, groups: Sequence[Cluster]) -> list[Pack]:
        """Put clusters together that share a question."""
        packs: list[list[Cluster]] = []
        held = 0
        for group in groups:
            size = sum(count_tokens(record.content) + LINE_TOKENS for record in group)
            if not packs or self.settings.ask == "pairs" or held + size > self.settings.call_tokens:
                packs.append([])
                held = 0
            packs[-1].append(group)
            held += size
        return [tuple(pack) for pack in packs]

    def _rulings(self, answered: Sequence[tuple[Pack, UpdateVerdicts]]) -> list[Ruling]:
        if self.settings.ask == "pairs":
            return rule_pairs([(older, newer, _only(answer)) for ((older, newer),), answer in answered])
        return [
            ruling
            for groups, answer in answered
            for number, group in enumerate(groups, start=1)
            for ruling in rule_cluster(group, [one for one in answer.verdicts if one.cluster == number])
        ]


@dataclass(frozen=True)
class Judges:
    """What a ruling is held against before it is proposed."""

    run_id: str
    index: ScopeIndex
    events: Sequence[Event]
    pairs: Sequence[Pair]
    gate: GroundSettings
    """How a merged text is held against its sources."""

    def propose(self, ruling: Ruling) -> Proposal:
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
        return judge(made, sources, stored_turns(self.index, beside), self.gate).reject_reason

    def _decision(self, ruling: Ruling, action: Action, reason: str, result_id: str | None) -> Decision:
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


def failures_of(
    run_id: str,
    own: Mapping[str, Record],
    index: ScopeIndex,
    failed: Sequence[tuple[Pack, Asked[UpdateVerdicts]]],
) -> list[Pending]:
    """Note the turns of new records whose look-alikes could not be decided on, by question."""
    noted: dict[str, Pending] = {}
    for groups, asked in failed:
        turns = turns_under(index, (record for group in groups for record in group if record.record_id in own))
        if turns and asked.failure:
            pending = pend(run_id, turns, "consolidate", asked.failure.reason)
            noted[pending.pending_id] = pending
    return list(noted.values())


def _only(answer: UpdateVerdicts) -> UpdateVerdict:
    """Give the verdict on a pair; where there is none, both stay."""
    effective = (one for one in answer.verdicts if one.cluster == 1)
    return next(effective, UpdateVerdict(action="KEEP_BOTH", reason=NO_VERDICT))
