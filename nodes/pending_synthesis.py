"""Note syntheses that are not written yet, on the turns that their records were drawn from."""

from collections.abc import Sequence

from langgraph_engram.nodes.receive import pend
from langgraph_engram.nodes.source_turns import turns_under
from langgraph_engram.nodes.synthesis_jobs import Job
from langgraph_engram.schema import Pending
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex


def pend_jobs(state: WriteState, index: ScopeIndex, jobs: Sequence[Job], reasons: Sequence[str]) -> list[list[Pending]]:
    """Give what notes each job that has a reason: a pending, or none where there is no turn to note it on.

    Args:
        state: The run's state.
        index: Where the turns are stored.
        jobs: The syntheses.
        reasons: Why each is not written; empty for one that is.
    """
    return [
        [pend(state["run_id"], turns, "synthesize", reason)] if reason and turns else []
        for job, reason in zip(jobs, reasons, strict=True)
        for turns in [turns_under(index, job.records) or state["turns"]]
    ]
