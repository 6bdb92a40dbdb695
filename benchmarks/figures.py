"""Compute every figure of a run from its lines, so that a run and its `questions.jsonl` cannot disagree.

A figure is a mean over the questions to which it applies, each counting once (a micro average), and None where it
applies to none. This module does not know a memory.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from langgraph_engram.benchmarks.answer_scores import CATEGORIES, TEMPORAL, f1_amem, f1_locomo, scored_gold
from langgraph_engram.benchmarks.asking import QuestionLine, Spent
from langgraph_engram.benchmarks.averages import MEDIAN, NEARLY_ALL, at_budgets, mean, percentile
from langgraph_engram.benchmarks.bleu import bleu1_amem
from langgraph_engram.benchmarks.evidence_recall import all_evidence_recall, answer_token_recall, evidence_recall
from langgraph_engram.benchmarks.temporal import temporal_interval
from langgraph_engram.schema import Frozen


class Scores(Frozen):
    """How well some questions were served; every rate is in [0, 1]."""

    questions: int
    evidence_recall: dict[str, float | None]
    all_evidence_recall: dict[str, float | None]
    answer_token_recall: dict[str, float | None]
    f1_locomo: float | None
    f1_amem: float | None
    bleu1_amem: float | None
    temporal_interval: float | None


class Figures(Scores):
    """All that a run's lines tell."""

    by_category: dict[str, Scores]
    deep_ratio: float | None
    """Share of answers that went past the light retrieval."""
    read: Spent
    read_p50: float | None
    read_p95: float | None
    """Seconds of a search."""


def recompute(path: str | PathLike[str]) -> Figures:
    """Compute every figure from a `questions.jsonl`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return compute(QuestionLine.model_validate_json(line) for line in lines)


def compute(questions: Iterable[QuestionLine]) -> Figures:
    """Compute every figure from a run's lines."""
    lines = list(questions)
    seconds = [line.read_seconds for line in lines]
    by_category = {
        str(category): score([line for line in lines if line.category == category]) for category in CATEGORIES
    }
    return Figures(
        **dict(score(lines)),
        by_category=by_category,
        deep_ratio=mean(line.went_deep for line in lines),
        read=sum((line.read for line in lines), Spent()),
        read_p50=percentile(seconds, MEDIAN),
        read_p95=percentile(seconds, NEARLY_ALL),
    )


def score(lines: Sequence[QuestionLine]) -> Scores:
    """Score some questions together."""
    return Scores(
        questions=len(lines),
        evidence_recall=at_budgets(lines, lambda pieces, line: evidence_recall(pieces, line.evidence)),
        all_evidence_recall=at_budgets(lines, lambda pieces, line: all_evidence_recall(pieces, line.evidence)),
        answer_token_recall=at_budgets(
            lines, lambda pieces, line: answer_token_recall(pieces, scored_gold(line.gold, line.category))
        ),
        f1_locomo=mean(f1_locomo(line.answer, line.gold, line.category) for line in lines),
        f1_amem=mean(f1_amem(line.answer, line.gold) for line in lines),
        bleu1_amem=mean(bleu1_amem(line.answer, line.gold) for line in lines),
        temporal_interval=mean(
            temporal_interval(line.answer, line.gold) for line in lines if line.category == TEMPORAL
        ),
    )
