"""Tell what was remembered as a narrative across events (StructMem section 3.3; DESIGN, step 8).

What is due stands in `synthesis_jobs`, what it goes back to in `synthesis_history`. No right to commit is held while
the model writes: what changed meanwhile is looked at before the texts are stored.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph_engram.extraction.drafting import ExtractionCapability
from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.pending import stored_turns, turns_under
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import PendingTask, Record, Synthesis, make_id
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.checks import (
    bounded,
    covers_deleted,
    narrative_fault,
    synthesized_meanwhile,
    with_current_status,
)
from langgraph_engram.summarization.scheduling import (
    SynthesisJob,
    SynthesisState,
    due_jobs,
    history_of,
    pending_syntheses,
)
from langgraph_engram.text.keywords import extractive_narrative

LOG = logging.getLogger(__name__)
EMPTY = "the model wrote an empty text"
QUOTED = "quoted"
"""The name in the ledger of what no model wrote."""


@dataclass(frozen=True)
class Synthesize:
    """Write syntheses. Reads `request`, `session_id`, `retried`; sets `synthesis_ids`, adds to `failures`."""

    store: Store
    model: Model
    settings: SynthesisSettings
    trust: ExtractionCapability = field(default_factory=ExtractionCapability)
    """What the model has shown of its writing, where `extract` asked it for records."""
    grounded: bool = True
    """Whether a narrative that goes beyond its records is quoted in their words instead."""

    def __call__(self, state: WriteState) -> WriteState:
        """Store the syntheses that are due, new ones in place of those that are stale, and settle them."""
        scope = state["request"].scope
        index = self.store.index(scope)
        jobs = due_jobs(SynthesisState(index), self._sessions(state, index), self.settings)
        histories = [history_of(index, job.records, self.settings) for job in jobs]
        questions = [
            WriteSynthesis(job.records, tuple(past), self.settings.most_words)
            for job, past in zip(jobs, histories, strict=True)
        ]
        asked = self._ask(questions) if questions else []
        texts = [self._text(question, one) for question, one in zip(questions, asked, strict=True)]
        told = [
            (job, _synthesis(scope.key, job, past, text))
            for job, past, text in zip(jobs, histories, texts, strict=True)
            if text
        ]
        reasons = ["" if text else _reason(one) for text, one in zip(texts, asked, strict=True)]
        failures = pending_syntheses(state["run_id"], index, jobs, reasons, state["turns"])
        self._commit(state, index, told, failures)
        update: WriteState = {"synthesis_ids": [one.synthesis_id for _, one in told], "failures": failures}
        return {**update, "usage": [entry_of("synthesize", asked)]} if asked else update

    def _ask(self, questions: Sequence[WriteSynthesis]) -> list[LLMResult[str]]:
        """Let the model tell, or quote where it has shown that it cannot write."""
        if self.settings.drafting == "written" or (self.settings.drafting == "auto" and not self.trust.is_lost):
            return self.model.ask_all(questions)
        return [LLMResult(answer=_quoted(one), usage=UsageEntry(node="", model=QUOTED)) for one in questions]

    def _text(self, question: WriteSynthesis, asked: LLMResult[str]) -> str:
        """Give what was told, cut where it runs on; quoted instead where it goes beyond its records."""
        text = bounded(asked.answer or "", 2 * self.settings.most_words)
        holds_back = self.grounded and self.settings.drafting != "written" and asked.usage.model != QUOTED
        fault = narrative_fault(text, [*question.buffer, *question.history]) if holds_back else ""
        if not fault:
            return text
        LOG.info("a synthesis went beyond its records, or round in circles: its records are quoted instead")
        LOG.debug("why it is quoted: %s", fault)
        return _quoted(question)

    def _sessions(self, state: WriteState, index: ScopeIndex) -> list[str]:
        """Give the run's own session, and those of the turns on which a synthesis is pending for it or retried."""
        stored = self.store.pending_tasks(state["request"].scope)
        noted = [*state.get("retried", []), *(one for one in stored if one.run_id == state["run_id"])]
        turns = stored_turns(index, [turn for one in noted if one.step == "synthesize" for turn in one.turn_ids])
        return list(dict.fromkeys([state["session_id"], *(turn.session_id for turn in turns)]))

    def _commit(
        self,
        state: WriteState,
        asked_of: ScopeIndex,
        told: Sequence[tuple[SynthesisJob, Synthesis]],
        failures: Sequence[PendingTask],
    ) -> None:
        scope = state["request"].scope
        with self.store.committing(scope):
            index = self.store.index(scope)
            told = [(job, one) for job, one in told if not covers_deleted(one, asked_of, index)]
            completed = self._completed(state, index, failures, [job for job, _ in told])
            kept = [with_current_status(job, one, index) for job, one in told if not synthesized_meanwhile(one, index)]
            if kept or failures or completed:
                self.store.commit(scope, Changes(syntheses=kept, pending_tasks=failures, completed=completed))

    def _completed(
        self, state: WriteState, index: ScopeIndex, failures: Sequence[PendingTask], done: Sequence[SynthesisJob]
    ) -> list[str]:
        """Give the pending_tasks of syntheses that this run, a retry, or a synthesis written now puts an end to."""
        written = {turn.turn_id for job in done for turn in turns_under(index, job.records)}
        mine = {one.pending_id for one in state.get("retried", [])}
        failed = {one.pending_id for one in failures}
        return [
            one.pending_id
            for one in self.store.pending_tasks(state["request"].scope)
            if one.step == "synthesize"
            and one.pending_id not in failed
            and (one.run_id == state["run_id"] or one.pending_id in mine or written.issuperset(one.turn_ids))
        ]


def _quoted(question: WriteSynthesis) -> str:
    return extractive_narrative(question.buffer, question.history, question.most_words)


def _reason(asked: LLMResult[str]) -> str:
    return asked.failure.reason if asked.failure else EMPTY


def _synthesis(scope_key: str, job: SynthesisJob, past: Sequence[Record], text: str) -> Synthesis:
    times = [record.mentioned_at for record in job.records if record.mentioned_at]
    ids = [record.record_id for record in job.records]
    before = job.synthesis
    return Synthesis(
        synthesis_id=before.synthesis_id if before else make_id(scope_key, "synthesis", *ids),
        text=text,
        window_start=min(times, default=None),
        window_end=max(times, default=None),
        covered_record_ids=list(dict.fromkeys([*(before.covered_record_ids if before else []), *ids])),
        seed_event_ids=list(dict.fromkeys(record.event_id for record in past)),
    )
