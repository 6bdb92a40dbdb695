"""Judge by its answers whether a model can write records.

A small model lumps a conversation into one record or leaves nearly all of it out.
"""

from collections.abc import Sequence
from threading import Lock

from langgraph_engram.extraction.batching import Batch
from langgraph_engram.llm.base import LLMResult
from langgraph_engram.prompts.extract_events import EventReading
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.extract_records import Extraction

MOST_TURNS = 3
"""Turns that one record may rest on and still be about one thing."""
LEAST_SENTENCES = 8
"""Statements from which on an answer that leaves nearly all of them out is poor."""
LEAST_COVERED = 0.2
"""Share of the statements that a usable answer covers."""
MOST_POOR = 2
"""Poor answers, without a good one, after which a model is asked to label only; one that never came counts as many."""


class ExtractionCapability:
    """What one model has shown so far. Safe to share between threads."""

    def __init__(self) -> None:
        """Start with a model that has shown nothing."""
        self._good = self._poor = 0
        self._lock = Lock()

    @property
    def is_shown(self) -> bool:
        """Return whether the model has written good records."""
        return self._good > 0

    @property
    def is_lacking(self) -> bool:
        """Return whether the model has only shown that it cannot write records."""
        return self._poor >= MOST_POOR and not self._good

    def note(self, batch: Batch, result: LLMResult[object]) -> None:
        """Note how an answer was, where it shows anything.

        A time-out counts as `MOST_POOR` answers: a model too slow for one batch is too slow for the next, and each
        costs the whole time-out again.
        """
        if is_too_hard(batch, result):
            is_late = result.failure is not None and result.failure.kind == "timeout"
            with self._lock:
                self._poor += MOST_POOR if is_late else 1
        elif result.answer is not None and len(_statements(batch)) >= LEAST_SENTENCES:
            with self._lock:
                self._good += 1


def is_too_hard(batch: Batch, result: LLMResult[object]) -> bool:
    """Return whether a question was too much for its model: the answer is poor or malformed, or did not come in time.

    A model that could not be reached, or refused, has shown nothing.
    """
    if result.failure:
        return result.failure.kind in ("invalid", "timeout", "too_long")
    return is_poor(batch, _cited_sentences(result.answer))


def is_poor(batch: Batch, cited: Sequence[Sequence[int]]) -> bool:
    """Return whether candidates lump sentences together, or leave nearly all of a batch out.

    Args:
        batch: What was asked about.
        cited: The sentences that each candidate cites, by number.
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


def _statements(batch: Batch) -> set[int]:
    """Return the numbers of the sentences that state something, without an assistant's long messages."""
    expected = batch.without_long_replies.turns
    stating = (sentence for sentence in batch.sentences if sentence.number and not sentence.asks)
    return {sentence.number for sentence in stating if sentence.turn in expected}


def _cited_sentences(answer: object) -> list[list[int]]:
    match answer:
        case EventReading() | Extraction():
            return [record.sources for record in answer.records]
        case SourcedSentences():
            return [sentence.sources for sentence in answer.sentences]
    return []
