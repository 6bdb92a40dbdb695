"""See to it that an answer says something, and says what it rests on.

Small models write the number of a piece in place of an answer, or an answer without numbers. The first is told by the
sentence that it points at; the second is traced to the piece that holds most of its words. Numbers of pieces that were
never shown are taken out. No model is asked.
"""

import re
from collections.abc import Sequence

from langgraph_engram.prompts.rendering import CITATION, cited_numbers, numbers_of
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.schema import Evidence
from langgraph_engram.text.tokens import content_stems

LEAST_HELD = 0.5
"""Share of an answer's content stems that a piece holds which it is taken to rest on."""


def with_citations(answer: str, pool: Sequence[Evidence]) -> str:
    """Give an answer that holds words, and the numbers of pieces of the pool, where any of them stands for it.

    Args:
        answer: What a model wrote.
        pool: The pieces it was shown; numbers count from 1.
    """
    known = without_unknown_citations(answer, len(pool))
    words = CITATION.sub("", known).strip(" .,;:")
    numbers = cited_numbers(known)
    if not words:
        return f"{pool[numbers[0] - 1].text} [{numbers[0]}]" if numbers else ""
    if numbers or is_unknown(words):
        return known
    number = _source(words, pool)
    return f"{known} [{number}]" if number else known


def rests_on_evidence(answer: str) -> bool:
    """Say whether an answer says something, and cites what it rests on."""
    return bool(CITATION.search(answer)) and not is_unknown(answer)


def is_unknown(answer: str) -> bool:
    """Say whether an answer says that the evidence is absent."""
    return answer.casefold().startswith(UNKNOWN.rstrip(".").casefold())


def without_unknown_citations(answer: str, count: int) -> str:
    """Take out citations of pieces that were never shown."""

    def keep(match: re.Match[str]) -> str:
        known = [number for number in numbers_of(match) if 1 <= number <= count]
        lead = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{lead}[{', '.join(map(str, known))}]" if known else ""

    return CITATION.sub(keep, answer).strip()


def _source(answer: str, pool: Sequence[Evidence]) -> int:
    """Give the number of the piece that holds most of an answer's words; 0 where none holds enough of them."""
    stems = set(content_stems(answer))
    held = [len(stems & set(content_stems(_said(piece)))) for piece in pool]
    best = max(held, default=0)
    return held.index(best) + 1 if best and best >= LEAST_HELD * len(stems) else 0


def _said(piece: Evidence) -> str:
    return " ".join([piece.text, *(turn.indexed_text for turn in piece.turns)])
