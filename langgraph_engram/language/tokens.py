"""Split text into words, and words into content stems: what lexical search and coverage count.

Words are runs of Unicode letters and digits, case-folded; content stems leave out the stop list and are stemmed by
Porter's algorithm. This module does not know what the stems are compared with.
"""

import re
from functools import lru_cache

import snowballstemmer

from langgraph_engram.language.irregular import BASE

STOP_WORDS = frozenset(
    "a an the and or but if of at by for with about to from in on is are was were be been being am do does did has "
    "have had having i you he she it we they me him her us them my your his our its their this that these those what "
    "which who whom when where why how so than too very can will just not no s t d ll m o re ve as there here up "
    "out over some any all also".split()
)
"""Words that carry no content of their own."""

WORD = re.compile(r"[^\W_]+")
TEXTS_KEPT = 8_192
"""Texts whose stems are kept in the process."""
LONGEST_KEPT = 2_000
"""Characters of the longest such text."""
STEMMER = snowballstemmer.stemmer("porter")


def words(text: str) -> list[str]:
    """Give the words of `text`, case-folded, in order."""
    return WORD.findall(text.casefold())


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Give the Porter stem of a case-folded word."""
    return str(STEMMER.stemWord(word))


def content_stems(text: str) -> list[str]:
    """Give the stems of the words of `text` that are not in the stop list, in order, repeats kept.

    Irregular forms are led back to their base first: "bought" and "buys" give the same stem.
    """
    return list(_stems_of_known(text) if len(text) <= LONGEST_KEPT else _stems_of(text))


def _stems_of(text: str) -> tuple[str, ...]:
    return tuple(stem(BASE.get(word, word)) for word in words(text) if word not in STOP_WORDS)


_stems_of_known = lru_cache(maxsize=TEXTS_KEPT)(_stems_of)
"""The same text is asked about in many steps: when it is grounded, compared, indexed, ranked and read."""
