"""Compute every figure of a LongMemEval run from its lines.

Questions that have no answer count for abstention alone. This module does not know a memory.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from langgraph_engram.benchmarks.answer_scores import f1_amem
from langgraph_engram.benchmarks.asking import Spent
from langgraph_engram.benchmarks.averages import MEDIAN, NEARLY_ALL, at_budgets, mean, percentile
from langgraph_engram.benchmarks.bleu import bleu1_amem
from langgraph_engram.benchmarks.evidence_recall import (
    all_evidence_recall,
    answer_token_recall,
    evidence_recall,
    session_recall,
)
from langgraph_engram.benchmarks.longmemeval_data import PREFERENCE_TYPE
from langgraph_engram.benchmarks.longmemeval_lines import LongMemEvalLine, QuestionIntent
from langgraph_engram.schema import Frozen

ABSENT = "absent"
"""The verdict of a memory that abstains."""
Rates = dict[str, float | None]


class LongMemEvalScores(Frozen):
    """How well some questions were served; every rate is in [0, 1]."""

    questions: int
    session_recall: Rates
    """Share of the evidence sessions that some piece holds a turn of."""
    turn_recall: Rates
    """Share of the turns marked as holding the answer that some piece holds."""
    all_evidence_recall: Rates
    """Share of questions with all of their marked turns."""
    answer_token_recall: Rates
    """Preferences are left out: their gold answer is a rubric."""
    f1_amem: float | None
    bleu1_amem: float | None


class Abstention(Frozen):
    """How often a memory says that it does not know."""

    questions: int
    """Those that have no answer."""
    abstained: float | None
    """Share of them that was not answered."""
    abstained_wrongly: float | None
    """Share of the other questions that was not answered."""


class Trigger(Frozen):
    """How well queries for the assistant's words are told from others (DimMem Table 6)."""

    precision: float | None
    recall: float | None
    f1: float | None
    questions: int
    positives: int


class LongMemEvalFigures(LongMemEvalScores):
    """All that a run's lines tell."""

    by_category: dict[str, LongMemEvalScores]
    """By type of question."""
    abstention: Abstention
    deep_ratio: float | None
    """Share of answers that went past the light retrieval."""
    read: Spent
    read_p50: float | None
    read_p95: float | None
    """Seconds of a search."""


def recompute(path: str | PathLike[str]) -> LongMemEvalFigures:
    """Compute every figure from a `questions.jsonl`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return compute([LongMemEvalLine.model_validate_json(line) for line in lines])


def compute(lines: Sequence[LongMemEvalLine]) -> LongMemEvalFigures:
    """Compute every figure from a run's lines."""
    answerable = [line for line in lines if not line.unanswerable]
    seconds = [line.read_seconds for line in lines]
    kinds = sorted({line.question_type for line in answerable})
    return LongMemEvalFigures(
        **dict(score(answerable)),
        by_category={kind: score([line for line in answerable if line.question_type == kind]) for kind in kinds},
        abstention=abstention(lines),
        deep_ratio=mean(line.went_deep for line in lines),
        read=sum((line.read for line in lines), Spent()),
        read_p50=percentile(seconds, MEDIAN),
        read_p95=percentile(seconds, NEARLY_ALL),
    )


def score(lines: Sequence[LongMemEvalLine]) -> LongMemEvalScores:
    """Score some questions that have an answer together."""
    told = [line for line in lines if line.question_type != PREFERENCE_TYPE]
    return LongMemEvalScores(
        questions=len(lines),
        session_recall=at_budgets(lines, lambda pieces, line: session_recall(pieces, line.evidence_sessions)),
        turn_recall=at_budgets(lines, lambda pieces, line: evidence_recall(pieces, stated(line))),
        all_evidence_recall=at_budgets(lines, lambda pieces, line: all_evidence_recall(pieces, stated(line))),
        answer_token_recall=at_budgets(told, lambda pieces, line: answer_token_recall(pieces, line.gold)),
        f1_amem=mean(f1_amem(line.answer, line.gold) for line in told),
        bleu1_amem=mean(bleu1_amem(line.answer, line.gold) for line in told),
    )


def stated(line: LongMemEvalLine) -> dict[str, list[str]]:
    """Give what the marked turns of a question state, by id."""
    turns = {turn_id: said for session in line.evidence_sessions.values() for turn_id, said in session.items()}
    return {turn_id: turns[turn_id] for turn_id in line.evidence_turns if turn_id in turns}


def abstention(lines: Sequence[LongMemEvalLine]) -> Abstention:
    """Say how often nothing was answered, with right and wrongly."""
    return Abstention(
        questions=sum(line.unanswerable for line in lines),
        abstained=mean(line.verdict == ABSENT for line in lines if line.unanswerable),
        abstained_wrongly=mean(line.verdict == ABSENT for line in lines if not line.unanswerable),
    )


def trigger(intents: Iterable[QuestionIntent]) -> Trigger:
    """Score whether questions are read as asking for the assistant's words; None where nothing is to be divided."""
    read = list(intents)
    right = sum(one.asks_for_assistant and one.read_as_such for one in read)
    positives, named = sum(one.asks_for_assistant for one in read), sum(one.read_as_such for one in read)
    return Trigger(
        precision=right / named if named else None,
        recall=right / positives if positives else None,
        f1=2 * right / (named + positives) if named + positives else None,
        questions=len(read),
        positives=positives,
    )
