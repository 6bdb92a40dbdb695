"""Run BEAM (ICLR 2026) on a memory: write each chat with an assistant, ask its questions, compute the figures.

Each chat has a memory of its own, and is its user; a batch of messages is a session. Questions are of ten abilities,
and name the messages that their answers rest on. Answers are judged by rubrics (`engram bench judge --protocol beam`).
"""

from collections.abc import Sequence
from typing import Unpack

from engram_lab.conversations import AnsweredLine, Keeping, measure, require_questions
from engram_lab.datasets import BeamQuestion, read_beam
from engram_lab.evidence_scores import evidence_recall, quote_recall
from engram_lab.harness import Figures, Setup, StrPath, mean, mean_at_budgets, split_by_answer

BUDGETS = (500, 1000, 2000, 4000, 8000)
"""Tokens; evidence is measured at each."""


class BeamLine(BeamQuestion, AnsweredLine):
    """One question, what was found for it at each budget, and what was answered."""


def run_beam(path: StrPath, setup: Setup, *, limit: int | None = None, **keeping: Unpack[Keeping]) -> Figures:
    """Measure a memory on a BEAM file."""
    chats = read_beam(path)[:limit]
    require_questions(chats, path, limit)
    run = measure("beam", path, setup, chats, BeamLine, budgets=BUDGETS, **keeping)
    messages = sum(len(session.messages) for chat in chats for session in chat.sessions)
    records = sum(write.counts["records"] for write in run.written)
    counts = {"messages": messages, "records_per_message": records / max(1, messages)}
    return run.report(compute(run.lines), counts=counts)


def compute(lines: Sequence[BeamLine]) -> Figures:
    """Compute every figure of a run's lines, in all and by ability."""
    abilities = sorted({line.question_type for line in lines})
    by_category = {name: _score([line for line in lines if line.question_type == name]) for name in abilities}
    return {**_score(lines), "by_category": by_category}


def _score(lines: Sequence[BeamLine]) -> Figures:
    """Score some questions together; those without sources have no recall."""
    quoted, _ = split_by_answer(lines)
    return {
        "questions": len(lines),
        "source_recall": mean_at_budgets(lines, lambda found, line: evidence_recall(found, line.evidence), BUDGETS),
        "quote_3": mean(quote_recall(line.quotes, line.evidence, 3) for line in quoted),
    }
