"""Write syntheses: by a model, or as quotes of the most central sentences where a model cannot (StructMem 3.3)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from langgraph_engram.llm.base import LLMResult, Model, entry_of
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.results import UsageEntry
from langgraph_engram.rule_model.consolidation import extractive_narrative
from langgraph_engram.schema import Record, Synthesis, make_id
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.checks import narrative_fault, shorten
from langgraph_engram.summarization.scheduling import SynthesisJob
from langgraph_engram.summarization.sources import LIMITS, SourceLimits, history_of, shown_records

LOG = logging.getLogger(__name__)
EMPTY = "the model wrote an empty text"
QUOTED = "quoted"
"""The name in the ledger of what no model wrote."""


@dataclass(frozen=True)
class WrittenSyntheses:
    """What came of the jobs of a run."""

    done: list[tuple[SynthesisJob, Synthesis]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Why each job failed, in the order of the jobs; empty for one that is done."""
    usage: list[UsageEntry] = field(default_factory=list)


@dataclass(frozen=True)
class SynthesisWriter:
    """Write syntheses."""

    model: Model
    settings: SynthesisSettings
    limits: SourceLimits = LIMITS
    verify: bool = True
    """Whether a narrative that goes beyond its records is replaced by quotes of them."""

    def write(self, index: ScopeIndex, scope_key: str, jobs: Sequence[SynthesisJob]) -> WrittenSyntheses:
        """Return a synthesis for each job that could be written.

        Args:
            index: What is stored of the scope.
            scope_key: The key of the scope.
            jobs: What is due.
        """
        if not jobs:
            return WrittenSyntheses()
        histories = [history_of(index, job.records, self.limits) for job in jobs]
        questions = [
            WriteSynthesis(
                tuple(shown_records(job.records, self.limits.shown_tokens)), tuple(history), self.settings.max_words
            )
            for job, history in zip(jobs, histories, strict=True)
        ]
        results = self._ask(questions)
        texts = [self._text(question, result) for question, result in zip(questions, results, strict=True)]
        done = [
            (job, _synthesis(scope_key, job, history, text, quoted=quoted))
            for job, history, (text, quoted) in zip(jobs, histories, texts, strict=True)
            if text
        ]
        reasons = ["" if text else _reason(result) for (text, _), result in zip(texts, results, strict=True)]
        return WrittenSyntheses(done, reasons, [entry_of("synthesize", results)])

    def _ask(self, questions: Sequence[WriteSynthesis]) -> list[LLMResult[str]]:
        """Let the model write, or quote where it has shown that it cannot."""
        is_able = self.settings.method == "auto" and not self.model.capability.is_lacking
        if self.settings.method == "written" or is_able:
            return self.model.ask_all(questions)
        return [
            LLMResult(answer=extractive_narrative(question), usage=UsageEntry(node="", model=QUOTED))
            for question in questions
        ]

    def _text(self, question: WriteSynthesis, result: LLMResult[str]) -> tuple[str, bool]:
        """Return what was written, shortened where it runs on, or quotes if it goes beyond its records; and which."""
        text = shorten(result.answer or "", 2 * self.settings.max_words)
        is_verified = self.verify and self.settings.method != "written" and result.usage.model != QUOTED
        fault = narrative_fault(text, [*question.buffer, *question.history]) if is_verified else ""
        if not fault:
            return text, result.by_rule or result.usage.model == QUOTED
        LOG.info("a synthesis went beyond its records or repeated itself: its records are quoted instead")
        LOG.debug("why it is quoted: %s", fault)
        return extractive_narrative(question), True


def _reason(result: LLMResult[str]) -> str:
    return result.failure.reason if result.failure else EMPTY


def _synthesis(scope_key: str, job: SynthesisJob, history: Sequence[Record], text: str, *, quoted: bool) -> Synthesis:
    times = [record.mentioned_at for record in job.records if record.mentioned_at]
    ids = [record.record_id for record in job.records]
    stale = job.synthesis
    return Synthesis(
        synthesis_id=stale.synthesis_id if stale else make_id(scope_key, "synthesis", *ids),
        text=text,
        quoted=quoted,
        window_start=min(times, default=None),
        window_end=max(times, default=None),
        covered_record_ids=list(dict.fromkeys([*(stale.covered_record_ids if stale else []), *ids])),
        seed_event_ids=list(dict.fromkeys(record.event_id for record in history)),
    )
