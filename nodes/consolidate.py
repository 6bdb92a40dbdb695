"""Ask what is to become of near-duplicates (DimMem section 3.4). Nothing is changed here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph.config import get_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER

from langgraph_engram.consolidation.resolution import ClusterBatch, ClusterResolver, Proposer
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.llm.base import Model, entry_of
from langgraph_engram.pending import cited_turns, pending_tasks_for, records_to_decide
from langgraph_engram.prompts.decide_update import DecideUpdate
from langgraph_engram.schema import Proposal, Record, Turn
from langgraph_engram.settings import UpdateSettings, VerifySettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True)
class Consolidate:
    """Decide on near-duplicates. Reads `records`, `tasks`, `pairs`; sets `proposals`, adds to `failures`."""

    store: Store
    model: Model
    settings: UpdateSettings
    verify: VerifySettings
    resolver: ClusterResolver
    """What is asked together."""

    def __call__(self, state: WriteState) -> WriteState:
        """Return a proposal for each decision, and the turns whose near-duplicates could not be decided on."""
        index = self.store.index(state["request"].scope)
        own = records_to_decide(state["records"], state["tasks"], index)
        batches = self.resolver.batches(state["pairs"], own, index)
        if not batches:
            return {"proposals": []}
        if self.settings.approve:
            _require_checkpointer()
        results = self.model.ask_all([DecideUpdate(batch, self.resolver.rules) for batch in batches])
        asked = list(zip(batches, results, strict=True))
        pairs = {frozenset((pair.older_id, pair.newer_id)): pair for pair in state["pairs"]}
        proposer = Proposer(state["run_id"], index, state["events"], pairs, self.verify.enabled)
        answered = [(batch, result.answer) for batch, result in asked if result.answer is not None]
        failed = [(_new_turns(batch, own, index), result.failure.reason) for batch, result in asked if result.failure]
        return {
            "proposals": [self._marked(proposer.propose(found)) for found in self.resolver.resolve(answered)],
            "failures": pending_tasks_for(state["run_id"], "consolidate", failed),
            "usage": [entry_of("consolidate", results)],
        }

    def _marked(self, proposal: Proposal) -> Proposal:
        """Note whether a proposal waits for a person: the run may go on under other settings."""
        return proposal.model_copy(update={"waits": proposal.decision.action in self.settings.approve})


def _new_turns(batch: ClusterBatch, own: Mapping[str, Record], index: ScopeIndex) -> Sequence[Turn]:
    """Return the turns that the run's own records of a batch cite."""
    return cited_turns(index, (record for cluster in batch for record in cluster if record.record_id in own))


def _require_checkpointer() -> None:
    """Refuse to begin what could not be resumed, before a model is asked."""
    if not get_config()["configurable"].get(CONFIG_KEY_CHECKPOINTER):
        raise InvalidSetting(
            "update.approve waits for a person, and this graph has no checkpointer to wait in: compile it with one "
            "(`build_write_graph(..., checkpointer=...)`), call `Memory.remember`, or leave update.approve empty"
        )
