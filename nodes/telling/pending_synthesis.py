"""Note syntheses that are not written yet, on the turns that their records were drawn from."""

from collections.abc import Sequence

from langgraph_engram.nodes.keeping.receive import pend
from langgraph_engram.nodes.keeping.source_turns import turns_under
from langgraph_engram.nodes.telling.synthesis_jobs import Job
from langgraph_engram.schema import Pending, Turn
from langgraph_engram.stores.scope_index import ScopeIndex


def pend_jobs(
    run_id: str, index: ScopeIndex, jobs: Sequence[Job], reasons: Sequence[str], otherwise: Sequence[Turn] = ()
) -> list[Pending]:
    """Note each job that has a reason, but those that there is no turn to note on.

    Args:
        run_id: The run that leaves them.
        index: Where the turns are stored.
        jobs: The syntheses.
        reasons: Why each is not written; empty for one that is.
        otherwise: The turns to note a job on whose records rest on none.
    """
    return [
        pend(run_id, turns, "synthesize", reason)
        for job, reason in zip(jobs, reasons, strict=True)
        if reason and (turns := turns_under(index, job.records) or otherwise)
    ]
