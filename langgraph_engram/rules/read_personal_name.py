"""Read what somebody's relative, pet or the like is called off a sentence that says so.

Of "I learn Dutch with a tutor" it is not known what the tutor is called. This module does not know which sentence is
right.
"""

import re
from collections.abc import Iterator, Set

from langgraph_engram.rules.read_names import KIN, NAME, is_new
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.text.names import NOT_NAMES, proper_names

PERSONAL = (
    rf"(?:{KIN}|cats?|dogs?|pupp(?:y|ies)|kittens?|pets?|horses?|rabbits?|bab(?:y|ies)|tutors?|doctors?|dentists?|"
    r"therapists?|managers?|landlords?|roommates?|flatmates?|trainers?|instructors?|supervisors?|clients?|students?)"
)
"""Who or what has a name of its own, told beside what they are."""
ENDS = r"(?=\W*$|\s+(?:is|was|are|called|named|that|which|who|I|we|he|she|they|it|(?-i:[A-Z]\w*))\b)"
ASKS = re.compile(
    rf"\b(?:(?P<owned>{PERSONAL})(?:['’]s\s+names?\b|\s+(?:called|named)\b)|"
    rf"names?\s+of\s+(?:[\w'’]+\s+){{0,3}}?(?P<named>{PERSONAL}){ENDS})",
    re.IGNORECASE,
)
"""Queries for such a name: "my wife's name", "the name of Ana's cat", "What is Ana's cat called?"."""
ASKS_NAME = re.compile(r"\b(?:names?|called|named)\b", re.IGNORECASE)
NAMES = rf"{NAME}(?:(?:,\s+|\s+and\s+){NAME}){{0,3}}"
ONE_NAME = re.compile(rf"^\W*({NAME})\W*$")
"""A reply that is a name and nothing else."""
WHOSE = r"(?:my|our|the|his|her|their|an?)\s+(?:\w+\s+)?"


def asks_for_personal_name(query: str) -> bool:
    """Say whether a query asks what a relative, a pet or the like is called."""
    return ASKS.search(query) is not None


def read_personal_name(query: str, one: Utterance, text: str, asked: Set[str]) -> str:
    """Give the name that stands with what is asked for, or that replies to what it is called; empty for none.

    Args:
        query: A question that asks for such a name.
        one: The sentence.
        text: What of it is read.
        asked: Stems of the query.
    """
    names = (name for name in _names(query, one, text) if name.split()[0].casefold() not in NOT_NAMES)
    return next((name for name in names if is_new(name, asked)), "")


def _names(query: str, one: Utterance, text: str) -> Iterator[str]:
    what = ASKS.search(query)
    if what:
        patterns = _beside(re.escape((what["owned"] or what["named"]).rstrip("sy")))
        yield from (match.group(1) for pattern in patterns for match in pattern.finditer(text))
    if ASKS_NAME.search(one.answers):
        yield from proper_names(text) or ONE_NAME.findall(text)


def _beside(stem: str) -> list[re.Pattern[str]]:
    """Give how a name stands with what is called by it, the surest first: "cat Miso", "called Miso", "Miso, my cat"."""
    patterns = (
        rf"\b{stem}\w*(?:['’]s\s+name)?(?:\s+(?:is|was|are))?(?:\s+(?:called|named))?,?\s+({NAMES})(?!['’]s\s+(?!name))",
        rf"\b(?:called|named|name(?:\s+is|['’]s))\s+(?:(?:him|her|it|them)\s+)?({NAMES})",
        rf"({NAME})(?:,|\s+is|\s+was)\s+{WHOSE}{stem}",
    )
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
