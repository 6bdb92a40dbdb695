"""Summarize what was remembered: notes of sessions that ended, or narratives across events (StructMem section 2.2).

No lock on commits is held while the model writes: what changed meanwhile is checked before the texts are stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langgraph_engram.llm.base import Model
from langgraph_engram.pending import (
    CHOOSE,
    cited_turns,
    completed_synthesis_ids,
    pending_tasks_for,
    sessions_to_synthesize,
    turns_of,
)
from langgraph_engram.schema import PendingTask, Synthesis
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.choices import laid_over
from langgraph_engram.summarization.choosing import Chooser, Reading
from langgraph_engram.summarization.scheduling import (
    Scheduler,
    SynthesisJob,
    covers_deleted,
    is_covered_elsewhere,
    with_current_status,
)
from langgraph_engram.summarization.writing import NO_HISTORY, History, SynthesisWriter


@dataclass(frozen=True)
class Synthesize:
    """Write syntheses. Reads `session_ids`, `tasks`; sets `synthesis_ids`, adds to `decisions`, `failures`."""

    store: Store
    model: Model
    settings: SynthesisSettings
    scheduler: Scheduler
    history: History = NO_HISTORY
    """What a narrative goes back to."""
    chooser: Chooser | None = None
    """What reads sessions that ended with the model."""

    def __call__(self, state: WriteState) -> WriteState:
        """Store the syntheses that are due, new ones in place of those that are stale, and complete their tasks."""
        scope, run_id = state["request"].scope, state["run_id"]
        index, pending = self.store.index(scope).as_of(None), self.store.pending_tasks(scope)
        sessions = sessions_to_synthesize(run_id, state["session_ids"], index, state["tasks"], pending)
        asked = {task.session_id for task in state["tasks"] if task.step == CHOOSE}
        chooser = self.chooser
        readings, usage = chooser.read(index, chooser.due(index, sessions, asked)) if chooser else ([], [])
        jobs = self.scheduler.jobs(index)
        writer = SynthesisWriter(self.model, self.settings, self.history)
        written = writer.write(index, scope.key, jobs)
        own, failed = turns_of(state["tasks"], index), zip(jobs, written.reasons, strict=True)
        about = [(cited_turns(index, job.records) or own, reason) for job, reason in failed if reason]
        unread = [([*part.turns], reading.failure) for reading in readings for part in reading.parts if reading.failure]
        failures = pending_tasks_for(run_id, "synthesize", about) + pending_tasks_for(run_id, CHOOSE, unread)
        chosen = self._commit(state, index, written.done, failures, [r for r in readings if not r.failure])
        ids = [synthesis.synthesis_id for synthesis in (*chosen.syntheses, *(told for _, told in written.done))]
        decisions = [*state.get("decisions", []), *chosen.decisions]
        usage = [*usage, *written.usage]
        return {"synthesis_ids": ids, "decisions": decisions, "failures": failures, "usage": usage}

    def _commit(
        self,
        state: WriteState,
        before: ScopeIndex,
        done: Sequence[tuple[SynthesisJob, Synthesis]],
        failures: Sequence[PendingTask],
        readings: Sequence[Reading],
    ) -> Changes:
        scope = state["request"].scope
        with self.store.committing(scope):
            index, pending = self.store.index(scope), self.store.pending_tasks(scope)
            left = [(job, synthesis) for job, synthesis in done if not covers_deleted(synthesis, before, index)]
            chosen = laid_over(index, scope, state["run_id"], readings, self.chooser) if self.chooser else Changes()
            written = {turn.turn_id for job, _ in left for turn in cited_turns(index, job.records)}
            completed = completed_synthesis_ids(state["run_id"], state["tasks"], failures, pending, written)
            kept = [
                with_current_status(job, synthesis, index)
                for job, synthesis in left
                if not is_covered_elsewhere(synthesis, index)
            ]
            if kept or chosen.syntheses or failures or completed:
                told = [*kept, *chosen.syntheses]
                self.store.commit(scope, replace(chosen, syntheses=told, pending_tasks=failures, completed=completed))
        return chosen
