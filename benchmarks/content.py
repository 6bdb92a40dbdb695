"""Count the content of text as the benchmarks define it: stems, and the sentences of a turn.

These definitions are the measure's own. They do not follow the words and sentences that the memory itself works with,
so that a change there cannot move the yardstick.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from langgraph_engram.language.tokens import STOP_WORDS, stem

WORD = re.compile(r"[a-z0-9]+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@lru_cache(maxsize=50_000)
def content_stems(text: str) -> frozenset[str]:
    """Give the distinct content stems: lower case, runs of a-z and 0-9, minus the stop list, Porter-stemmed."""
    return frozenset(stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS)


def statements_of(text: str, captions: Sequence[str] = ()) -> list[str]:
    """Give what a turn states: its sentences and captions, in order, without those that have no content stem."""
    stated = [*SENTENCE_END.split(text), *captions]
    return [one.strip() for one in stated if content_stems(one)]
