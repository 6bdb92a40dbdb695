"""Run LongMemEval (Wu et al., ICLR 2025) on a memory: write each haystack, ask its question, compute the figures.

Each question has a haystack and a memory of its own, which is gone once it is answered, and is asked at its own date.
Evidence comes from `search`, answers from `recall`. Questions that have no answer count for abstention alone.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Unpack

from nltk.metrics import f_measure, precision, recall

from engram_lab.answer_scores import bleu1_amem, f1_amem
from engram_lab.conversations import AnsweredLine, Keeping, measure
from engram_lab.datasets import Conversation, LongMemEvalQuestion, read_longmemeval
from engram_lab.evidence_scores import (
    all_evidence_recall,
    answer_token_recall,
    evidence_recall,
    quote_recall,
    session_recall,
)
from engram_lab.harness import Figures, Setup, StrPath, mean, mean_at_budgets, split_by_answer
from langgraph_engram.errors import InvalidInput
from langgraph_engram.llm.base import Model
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Frozen

ASSISTANT_TYPE = "single-session-assistant"
PREFERENCE_TYPE = "single-session-preference"
"""Questions whose answer is a rubric, not a text."""
ABSENT = "absent"
"""The verdict of a memory that abstains."""


class QuestionIntent(Frozen):
    """Whether a question asks for the assistant's words, and whether it was read so."""

    question_id: str
    asks_for_assistant: bool
    read_as_such: bool


class LongMemEvalLine(LongMemEvalQuestion, AnsweredLine):
    """One question, what was found for it at each budget, and what was answered."""

    intent: QuestionIntent


def run_longmemeval(path: StrPath, setup: Setup, *, limit: int | None = None, **keeping: Unpack[Keeping]) -> Figures:
    """Measure a memory on a LongMemEval file."""
    items = read_longmemeval(path)[:limit]
    if not items:
        raise InvalidInput(f"no question to ask: limit is {limit!r}, and must be at least 1")
    rules = RuleModel()
    asked = [] if setup.intent_model else items
    by_rules = {item.name: read_intent(rules, item.questions[0], item.asked_at) for item in asked}

    def intent_of(item: Conversation[LongMemEvalQuestion], question: LongMemEvalQuestion) -> Figures:
        return {"intent": by_rules.get(item.name) or read_intent(setup.intent_model or rules, question, item.asked_at)}

    haystacks = [item for item in items if item.sessions]
    run = measure("longmemeval", path, setup, haystacks, LongMemEvalLine, intent_of, one_by_one=False, **keeping)
    trigger = score_trigger(by_rules.values() or [line.intent for line in run.lines])
    seconds = {"write_haystack": mean(write.seconds for write in run.written)}
    return run.report({**compute(run.lines), "assistant_trigger": trigger}, seconds)


def read_intent(model: Model, question: LongMemEvalQuestion, asked_at: datetime | None) -> QuestionIntent:
    """Read a query as the memory's graph does."""
    intent = model.ask(ParseIntent(question.question, asked_at)).answer
    return QuestionIntent(
        question_id=question.question_id,
        asks_for_assistant=question.question_type == ASSISTANT_TYPE,
        read_as_such=intent is not None and intent.needs_assistant,
    )


def compute(lines: Sequence[LongMemEvalLine]) -> Figures:
    """Compute every figure of a run's lines, in all and by type of question."""
    answerable = [line for line in lines if not line.unanswerable]
    figures, kinds = _score(answerable), sorted({line.question_type for line in answerable})
    return {
        **figures,
        "evidence_recall": figures["turn_recall"],
        "by_category": {kind: _score([line for line in answerable if line.question_type == kind]) for kind in kinds},
        "abstention": {
            "questions": len(lines) - len(answerable),
            "abstained": mean(line.verdict == ABSENT for line in lines if line.unanswerable),
            "abstained_wrongly": mean(line.verdict == ABSENT for line in answerable),
        },
    }


def score_trigger(intents: Iterable[QuestionIntent]) -> dict[str, float | None]:
    """Score whether queries for the assistant's words are recognised (DimMem Table 6); None for an undefined ratio."""
    read = list(intents)
    asking = {intent.question_id for intent in read if intent.asks_for_assistant}
    found = {intent.question_id for intent in read if intent.read_as_such}
    ratios = {"precision": precision(asking, found), "recall": recall(asking, found), "f1": f_measure(asking, found)}
    return {**ratios, "questions": len(read), "positives": len(asking)}


def _score(lines: Sequence[LongMemEvalLine]) -> Figures:
    """Score some questions that have an answer together. Words are those of answers that are no rubric."""
    textual = [line for line in lines if line.question_type != PREFERENCE_TYPE]
    quoted, _ = split_by_answer(lines)
    _, answered = split_by_answer(textual)
    return {
        "questions": len(lines),
        "session_recall": mean_at_budgets(lines, lambda found, line: session_recall(found, line.evidence_sessions)),
        "turn_recall": mean_at_budgets(lines, lambda found, line: evidence_recall(found, line.evidence)),
        "all_evidence_recall": mean_at_budgets(lines, lambda found, line: all_evidence_recall(found, line.evidence)),
        "answer_token_recall": mean_at_budgets(textual, lambda found, line: answer_token_recall(found, line.gold)),
        "quote_1": mean(quote_recall(line.quotes, line.evidence_turns, 1) for line in quoted),
        "quote_3": mean(quote_recall(line.quotes, line.evidence_turns, 3) for line in quoted),
        "f1_amem": mean(f1_amem(line.answer, line.gold) for line in answered),
        "bleu1_amem": mean(bleu1_amem(line.answer, line.gold) for line in answered),
    }
