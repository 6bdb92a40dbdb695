"""Decide what becomes of records that resemble one another (DimMem section 3.4). Nothing is changed here.

Clusters share questions, up to a token size; the paper's way asks pair by pair. A merge that would lose a cited source,
that says what its sources do not, or that makes one of two events is refused, and everything is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from langgraph_engram.consolidation.resolution import (
    Cluster,
    Proposer,
    Resolution,
    _only,
    clusters,
    groups_of,
    resolve_cluster,
    resolve_pairs,
)
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.pending import pending_task, require_checkpointer, turns_under
from langgraph_engram.prompts.decide_update import DecideUpdate, UpdateVerdicts
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Pair, PendingTask, Proposal, Record
from langgraph_engram.settings import UpdateSettings, VerifySettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex

LINE_TOKENS = 12
"""Tokens of what stands around a memory in a question."""
Batch: TypeAlias = tuple[Cluster, ...]
"""Clusters that share a question."""


@dataclass(frozen=True)
class Consolidate:
    """Decide on look-alikes. Reads `request`, `records`, `pairs`; sets `proposals`, adds to `failures`."""

    store: Store
    model: Model
    settings: UpdateSettings
    gate: VerifySettings

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
        judges = Proposer(state["run_id"], index, state.get("events", []), state["pairs"], self.gate)
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

    def _packs(self, groups: Sequence[Cluster]) -> list[Batch]:
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

    def _rulings(self, answered: Sequence[tuple[Batch, UpdateVerdicts]]) -> list[Resolution]:
        if self.settings.ask == "pairs":
            return resolve_pairs([(older, newer, _only(answer)) for ((older, newer),), answer in answered])
        return [
            ruling
            for groups, answer in answered
            for number, group in enumerate(groups, start=1)
            for ruling in resolve_cluster(group, [one for one in answer.verdicts if one.cluster == number])
        ]


def failures_of(
    run_id: str,
    own: Mapping[str, Record],
    index: ScopeIndex,
    failed: Sequence[tuple[Batch, LLMResult[UpdateVerdicts]]],
) -> list[PendingTask]:
    """Note the turns of new records whose look-alikes could not be decided on, by question."""
    noted: dict[str, PendingTask] = {}
    for groups, asked in failed:
        turns = turns_under(index, (record for group in groups for record in group if record.record_id in own))
        if turns and asked.failure:
            pending = pending_task(run_id, turns, "consolidate", asked.failure.reason)
            noted[pending.pending_id] = pending
    return list(noted.values())
