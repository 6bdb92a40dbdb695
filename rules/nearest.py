"""Choose, of several readings of one sentence, the one that stands nearest to what is asked.

This module does not know what is read.
"""

import re
from collections.abc import Sequence, Set

from langgraph_engram.language.tokens import WORD, content_stems

BEFORE = 24
"""What it costs, in characters, to stand before an asked word: most answers follow the words that the query repeats."""


def nearest(found: Sequence[re.Match[str]], text: str, asked: Set[str]) -> re.Match[str] | None:
    """Give the match that stands nearest to a word that is asked, in characters; the first without any.

    Args:
        found: Matches in the text, in order.
        text: A sentence.
        asked: Stems of the query.
    """
    words = [match for match in WORD.finditer(text) if not asked.isdisjoint(content_stems(match.group()))]
    return min(found, key=lambda one: min((_distance(one, word) for word in words), default=0), default=None)


def _distance(one: re.Match[str], word: re.Match[str]) -> int:
    return one.start() - word.end() if one.start() >= word.end() else max(word.start() - one.end(), 0) + BEFORE
