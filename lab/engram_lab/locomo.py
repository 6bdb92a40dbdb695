"""Run LoCoMo (Maharana et al., ACL 2024) on a memory: write each conversation, ask its questions, compute the figures.

Each sample has a memory of its own, and is its user. Evidence comes from `search`, answers from `recall`.
"""

from collections.abc import Sequence
from typing import Unpack

from engram_lab.answer_scores import bleu1_amem, f1_amem, f1_locomo, scored_gold
from engram_lab.conversations import AnsweredLine, Keeping, measure, require_questions
from engram_lab.datasets import CATEGORIES, LocomoQuestion, read_locomo
from engram_lab.evidence_scores import SHOWN, all_evidence_recall, answer_token_recall, evidence_recall, quote_recall
from engram_lab.harness import MEDIAN, Figures, Setup, StrPath, mean, mean_at_budgets, percentile, split_by_answer
from langgraph_engram.results import count_tokens


class LocomoLine(LocomoQuestion, AnsweredLine):
    """One question, what was found for it at each budget, and what was answered."""


def run_locomo(path: StrPath, setup: Setup, *, limit: int | None = None, **keeping: Unpack[Keeping]) -> Figures:
    """Measure a memory on a LoCoMo file."""
    samples = read_locomo(path, limit)
    require_questions(samples, path, limit)
    run = measure("locomo", path, setup, samples, LocomoLine, **keeping)
    return run.report(compute(run.lines))


def compute(lines: Sequence[LocomoLine]) -> Figures:
    """Compute every figure of a run's lines, in all and by category."""
    categories = {category: [line for line in lines if line.category == category] for category in CATEGORIES}
    by_category = {str(category): _score(of_category) for category, of_category in categories.items()}
    return {**_score(lines), "by_category": by_category}


def _score(lines: Sequence[LocomoLine]) -> Figures:
    """Score some questions together: answers of a language model by their words, quotes by the turns they are from.

    `shown_tokens` is the median of the tokens that a search shows without a budget of its own.
    """
    quoted, answered = split_by_answer(lines)
    shown = [sum(count_tokens(passage.text) for passage in line.passages[SHOWN]) for line in lines]
    return {
        "questions": len(lines),
        "evidence_recall": mean_at_budgets(lines, lambda found, line: evidence_recall(found, line.evidence)),
        "all_evidence_recall": mean_at_budgets(lines, lambda found, line: all_evidence_recall(found, line.evidence)),
        "answer_token_recall": mean_at_budgets(
            lines, lambda found, line: answer_token_recall(found, scored_gold(line.gold, line.category))
        ),
        "shown_tokens": percentile(shown, MEDIAN),
        "quote_1": mean(quote_recall(line.quotes, line.evidence, 1) for line in quoted),
        "quote_3": mean(quote_recall(line.quotes, line.evidence, 3) for line in quoted),
        "f1_locomo": mean(f1_locomo(line.answer, line.gold, line.category) for line in answered),
        "f1_amem": mean(f1_amem(line.answer, line.gold) for line in answered),
        "bleu1_amem": mean(bleu1_amem(line.answer, line.gold) for line in answered),
    }
