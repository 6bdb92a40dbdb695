"""Carry out what was decided about look-alikes: make what a merge makes, and mark what is merged or superseded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langgraph_engram.nodes.receive import pend
from langgraph_engram.nodes.revise import as_merged, as_superseded, merged
from langgraph_engram.nodes.source_turns import turns_under
from langgraph_engram.schema import Pending, Record
from langgraph_engram.state import Proposal, WriteState
from langgraph_engram.stores.scope_index import RecordShelf
from langgraph_engram.stores.store import Store

CHANGED = "a record was changed while this decision waited"


@dataclass(frozen=True)
class ApplyUpdates:
    """Carry out decisions. Reads `request`, `records`, `proposals`; sets `changed`, `decisions`, changes `records`.

    A decision may have waited for a person. One about a record that was changed meanwhile keeps everything, and is
    pending: it is to be made again.
    """

    store: Store

    def __call__(self, state: WriteState) -> WriteState:
        """Return the run's records with what was made of them, and the older records whose status changes."""
        shelf = self.store.index(state["request"].scope).records
        own = {record.record_id: record for record in state["records"]}
        cited = [one for proposal in state["proposals"] for one in proposal.decision.pair]
        known = {one: record for one in cited if (record := own.get(one) or shelf.get(one))}
        changed: dict[str, Record] = {}
        made: list[Record] = []
        outdated = [one for one in state["proposals"] if is_outdated(one, shelf)]
        proposals = [kept(one) if one in outdated else one for one in state["proposals"]]
        for proposal in proposals:
            new, marked = carry_out(proposal, known)
            made += new
            changed |= {record.record_id: record for record in marked}
        failures = self._failures(state, outdated)
        update: WriteState = {
            "records": [*(changed.get(one, record) for one, record in own.items()), *made],
            "changed": [record for one, record in changed.items() if one not in own],
            "decisions": [proposal.decision for proposal in proposals if proposal.decision.reason != CHANGED],
        }
        return {**update, "failures": failures} if failures else update

    def _failures(self, state: WriteState, outdated: Sequence[Proposal]) -> list[Pending]:
        """Note the run's own records in outdated decisions, by the turns they rest on."""
        cited = {one for proposal in outdated for one in proposal.decision.pair}
        own = (record for record in state["records"] if record.record_id in cited)
        turns = turns_under(self.store.index(state["request"].scope), own)
        return [pend(state["run_id"], turns, "consolidate", CHANGED)] if turns else []


def is_outdated(proposal: Proposal, shelf: RecordShelf) -> bool:
    """Say whether a decision would change a stored record that is no longer active."""
    if proposal.decision.action == "KEEP_BOTH":
        return False
    stored = (shelf.get(one) for one in proposal.decision.pair)
    return any(one.status != "active" for one in stored if one)


def kept(proposal: Proposal) -> Proposal:
    """Give a decision that keeps everything in place of one that is outdated."""
    update = {"action": "KEEP_BOTH", "reason": CHANGED, "result_id": None}
    return Proposal(decision=proposal.decision.model_copy(update=update))


def carry_out(proposal: Proposal, known: Mapping[str, Record]) -> tuple[list[Record], list[Record]]:
    """Give the records that a decision makes, and those that it marks."""
    group = [known[one] for one in proposal.decision.pair]
    match proposal.decision.action:
        case "MERGE":
            made = merged(group, proposal.content)
            return [made], as_merged(group, made)
        case "SUPERSEDE":
            return [], as_superseded(group[:-1], group[-1])
    return [], []
