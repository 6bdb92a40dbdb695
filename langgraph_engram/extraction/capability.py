"""Judge by its answers whether a model can write records.

A small model lumps a conversation into one record or leaves nearly all of it out.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from langgraph_engram.extraction.batching import TurnBatch
from langgraph_engram.extraction.records import Draft
from langgraph_engram.llm.base import MOST_POOR, Capability, LLMResult

MOST_TURNS = 3
"""Turns that one record may rest on and still be about one thing."""
LEAST_SENTENCES = 8
"""Statements from which on an answer that leaves nearly all of them out is poor."""
LEAST_COVERED = 0.2
"""Share of the statements that a usable answer covers."""


@runtime_checkable
class Reading(Protocol):
    """An answer that holds drafts of records."""

    @property
    def drafts(self) -> Sequence[Draft]:
        """Return what is noted of each record."""


def note_answer(capability: Capability, batch: TurnBatch, result: LLMResult[object]) -> None:
    """Note how an answer about a batch was, where it shows anything.

    A time-out counts as `MOST_POOR` answers: a model too slow for one batch is too slow for the next, and each costs
    the whole time-out again.
    """
    if is_too_hard(batch, result):
        is_late = result.failure is not None and result.failure.kind == "timeout"
        capability.note(poor=MOST_POOR if is_late else 1)
    elif result.answer is not None and len(_statements(batch)) >= LEAST_SENTENCES:
        capability.note(good=1)


def is_too_hard(batch: TurnBatch, result: LLMResult[object]) -> bool:
    """Return whether a question was too much for its model: the answer is poor or malformed, or did not come in time.

    A model that could not be reached, or refused, has shown nothing.
    """
    if result.failure:
        return result.failure.kind in ("invalid", "timeout", "too_long")
    drafts = result.answer.drafts if isinstance(result.answer, Reading) else ()
    return is_poor(batch, [draft.sources for draft in drafts])


def is_poor(batch: TurnBatch, cited: Sequence[Sequence[int]]) -> bool:
    """Return whether drafts lump sentences together, or leave nearly all of a batch out.

    Args:
        batch: What was asked about.
        cited: The sentences that each draft cites, by number.
    """
    turn_of = {sentence.number: sentence.turn.turn_id for sentence in batch.sentences if sentence.number}
    statements = _statements(batch)
    if len(statements) < LEAST_SENTENCES:
        return False
    usable = [
        numbers
        for numbers in cited
        if 1 <= len({turn_of[number] for number in numbers if number in turn_of}) <= MOST_TURNS
    ]
    covered = statements & {number for numbers in usable for number in numbers}
    return 2 * len(usable) < len(cited) or len(covered) < LEAST_COVERED * len(statements)


def _statements(batch: TurnBatch) -> set[int]:
    """Return the numbers of the sentences that state something, without an assistant's long messages."""
    expected = batch.without_long_replies.turns
    stating = (sentence for sentence in batch.sentences if sentence.number and not sentence.asks)
    return {sentence.number for sentence in stating if sentence.turn in expected}
