"""Order several readings of one sentence by how near each stands to what is asked.

This module does not know what is read.
"""

import re
from collections.abc import Callable, Sequence, Set
from typing import TypeAlias, TypeVar

from langgraph_engram.text.tokens import WORD, content_stems

T = TypeVar("T")
Span: TypeAlias = tuple[int, int]
"""Where something begins and ends in a text, in characters."""
BEFORE = 24
"""Characters that it may cost to stand before an asked word: most answers follow the words that a query repeats."""


def nearest_match(pattern: re.Pattern[str], text: str, asked: Set[str]) -> re.Match[str] | None:
    """Give the match of a pattern in a sentence that stands nearest to a word that is asked, or behind it; or none."""
    found = nearest_first(list(pattern.finditer(text)), re.Match.span, text, asked, BEFORE)
    return found[0] if found else None


def nearest_first(
    found: Sequence[T], span_of: Callable[[T], Span], text: str, asked: Set[str], before: int = 0
) -> list[T]:
    """Order things of a sentence by their distance to a word that is asked; as they are without any.

    Args:
        found: What was found in the text, in order.
        span_of: Gives where each of them stands.
        text: The sentence.
        asked: Stems of the query.
        before: Characters that count more for what stands before the word.
    """
    words = [match.span() for match in WORD.finditer(text) if not asked.isdisjoint(content_stems(match.group()))]
    return sorted(found, key=lambda one: min((_distance(span_of(one), word, before) for word in words), default=0))


def _distance(one: Span, word: Span, before: int) -> int:
    return one[0] - word[1] if one[0] >= word[1] else max(word[0] - one[1], 0) + before
