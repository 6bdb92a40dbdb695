"""Read where something is off a sentence: a proper name before a common one, nowhere that the query names itself.

There is no list of places: prepositions show them. This module does not know which sentence is right.
"""

import re
from collections.abc import Set

from langgraph_engram.rules.read_names import is_new
from langgraph_engram.text.statements import MONTHS_AND_DAYS

GONE_TO = r"to\s+(?=(?:the|an?|my|our|this|that|his|her|their|school|college|church|work|town|bed)\b)"
"""Before a place; before a deed "to" has no article."""
LEADS = rf"\b(?:{GONE_TO}|(?:in|at|from|near|around|outside|inside|into|through)\s+)"
PROPER_PLACE = re.compile(
    r"\b(?:in|on|at|to|from|near|around|of|visit(?:ed|ing)?|tour(?:ed|ing)?|explor(?:e|ed|ing)|reach(?:ed)?|left|,)\s+"
    r"(?:the\s+)?((?!I\b)(?:[A-Z][\w'’.-]*)(?:(?:,?\s+|\s+of\s+(?:the\s+)?)(?!I\b)[A-Z][\w'’.-]*)*)"
)
COMMON_PLACE = re.compile(
    rf"{LEADS}((?:(?:the|an?|my|our|this)\s+)?(?:[\w'’&-]+\s*){{1,4}}?)"
    r"(?=$|[.,!?;:–—-]|\s(?:and|with|for|last|this|next|to|in|at|on|where|when|because|so|but|which|that|is|was|were|"
    r"are|i|we|it)\b)",
    re.IGNORECASE,
)
NAMED = re.compile(
    r"\b(?:what|which)\s+(?:\w+\s+)?(?:city|cities|country|countries|states?|continents?|islands?)\b", re.IGNORECASE
)
"""Queries for places that have a proper name."""
NO_PLACES = frozenset(
    (
        "it them him her me us you this that which what everything everyone everybody anything something "
        "someone nothing life lives time times moment moments day days week weeks weekend month months year "
        "years summer winter spring fall today yesterday tomorrow tonight soon now end meantime future past "
        "way background distance trip trips travels tour mind case fact general touch love while program"
    ).split()
)
"""What stands behind a preposition and is no place."""


def read_place(query: str, text: str, asked: Set[str]) -> str:
    """Give where something is, a proper name before a common one; empty for none.

    Args:
        query: The question. One for a city or a country is answered by a proper name alone.
        text: A sentence.
        asked: Stems of the query; a place made of them alone is no answer.
    """
    patterns = (PROPER_PLACE,) if NAMED.search(query) else (PROPER_PLACE, COMMON_PLACE)
    places = (match.group(1) for pattern in patterns for match in pattern.finditer(text))
    return next((place for place in places if is_new(place, asked) and _may_be(place)), "")


def _may_be(place: str) -> bool:
    first, *_, last = [word.strip(".'’,").casefold() for word in (*place.split(), place.split()[-1])]
    return first not in MONTHS_AND_DAYS and first not in NO_PLACES and last not in NO_PLACES
