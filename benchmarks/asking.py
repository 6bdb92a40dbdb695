"""Ask a memory one question, and keep all that its figures are computed from as one line of `questions.jsonl`.

This module does not know how a line is scored.
"""

from datetime import datetime
from time import perf_counter

from langgraph_engram.benchmarks.data import LocomoQuestion
from langgraph_engram.benchmarks.door import MemoryDoor
from langgraph_engram.benchmarks.pieces import BUDGETS, Piece, fit_budgets, to_piece
from langgraph_engram.language.citations import CITATION
from langgraph_engram.results import Usage
from langgraph_engram.schema import Frozen


class Spent(Frozen):
    """What a step cost: physical calls and tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Add up two costs."""
        return Spent(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


class Told(Frozen):
    """What a memory found and answered, beside what it was asked."""

    answer: str
    pieces: dict[str, list[Piece]]
    """The pieces that fit each budget, best first."""
    verdict: str
    went_deep: bool
    read_seconds: float
    """How long the search took."""
    read: Spent
    """What the answer cost."""


class QuestionLine(Told):
    """One question of LoCoMo, what was found for it at each budget, and what was answered."""

    sample: str
    index: int
    category: int
    question: str
    gold: str
    evidence: dict[str, list[str]]
    """The turns that support the answer, by id: what each states."""


def spent(usage: Usage) -> Spent:
    """Take calls and tokens of a ledger."""
    return Spent(calls=usage.calls, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)


def ask(memory: MemoryDoor, sample_id: str, question: LocomoQuestion) -> QuestionLine:
    """Ask a question of LoCoMo.

    Args:
        memory: The memory, which holds the sample under the sample's id as its user.
        sample_id: The sample.
        question: The question.
    """
    return QuestionLine(
        sample=sample_id,
        index=question.index,
        category=question.category,
        question=question.question,
        gold=question.gold,
        evidence=question.evidence,
        **dict(put(memory, sample_id, question.question)),
    )


def put(memory: MemoryDoor, user_id: str, query: str, now: datetime | None = None) -> Told:
    """Search for evidence within the largest budget, then have the question answered.

    Args:
        memory: The memory.
        user_id: Who is asked about.
        query: The question.
        now: When it is asked; the newest turn's time unless told otherwise.
    """
    started = perf_counter()
    found = memory.search(query, user_id=user_id, budget=max(BUDGETS), now=now)
    seconds = perf_counter() - started
    told = memory.recall(query, user_id=user_id, now=now)
    return Told(
        answer=plain_answer(told.answer),
        pieces=fit_budgets([to_piece(one) for one in found.evidence]),
        verdict=told.verdict,
        went_deep=told.went_deep,
        read_seconds=seconds,
        read=spent(told.usage),
    )


def plain_answer(answer: str | None) -> str:
    """Give an answer without its citations."""
    return CITATION.sub("", answer or "").strip()
