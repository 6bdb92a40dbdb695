"""Measure quotes: whether what is quoted in place of an answer is from the turns that hold it.

Without a language model an answer is quotes, one a line, each with the numbers of its passages. There is no F1 for
them: what counts is whether the first, or one of the first three, is from an evidence turn.
"""

import re
from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from langgraph_engram.prompts.rendering import cited_numbers
from langgraph_engram.results import Recollection
from langgraph_engram.schema import Turn
from langgraph_engram.text.sentences import split_sentences

ASKED = re.compile(r'asked ".*?": (?=")')
"""The question that a quoted reply answers: it is not what is quoted."""


class WithQuotes(Protocol):
    """A line of a run."""

    @property
    def quotes(self) -> Sequence[Sequence[str]] | None:
        """Return the turns that each quote is from; None where a language model answered."""


Line = TypeVar("Line", bound=WithQuotes)


def quoted_turns(told: Recollection) -> list[list[str]]:
    """Return for each quote of an answer the turns that it is from, by the data set's ids; empty for other answers."""
    return [_turns_of(line, told) for line in (told.answer or "").splitlines()] if told.quoted else []


def split_by_answer(lines: Sequence[Line]) -> tuple[Sequence[Line], Sequence[Line]]:
    """Return the lines of a run that are quotes, and those of a language model: all are one or the other."""
    quoted = all(line.quotes is not None for line in lines)
    return (lines, ()) if quoted else ((), lines)


def quote_recall(quotes: Sequence[Sequence[str]] | None, evidence: Collection[str], most: int) -> float | None:
    """Return 1 where one of the first quotes is from an evidence turn, else 0; None for a question without evidence."""
    return float(any(turn in evidence for quote in (quotes or ())[:most] for turn in quote)) if evidence else None


def _turns_of(line: str, told: Recollection) -> list[str]:
    passages = [told.evidence[number - 1] for number in cited_numbers(line)]
    turns = {turn.turn_id: turn for passage in passages for turn in passage.turns}
    said = ASKED.sub("", line)
    return [turn.external_id or turn.turn_id for turn in turns.values() if _is_in(turn, said)]


def _is_in(turn: Turn, line: str) -> bool:
    return any(f'"{sentence}"' in line for sentence in (*split_sentences(turn.text), *turn.captions))
