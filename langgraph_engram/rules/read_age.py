"""Read how old somebody or something is off a sentence: "32", "three years old", "18" of an 18th birthday.

This module does not know which sentence is right.
"""

import re
from collections.abc import Set

from langgraph_engram.rules.nearest import nearest_match
from langgraph_engram.rules.read_amount import SPELLED

YEARS = rf"(?:(?<![\d.,])\d{{1,3}}|{SPELLED})"
ADVERBS = r"(?:(?:\w+ly|just|about|now|still|almost|around)\s+){0,2}"
ENDS = r"(?=\s*(?:[.,;!?)](?!\d)|$)|\s+(?:when|and|in|now|at|but|too|years|this|next|last|so|because|on|then)\b)"
AGE = re.compile(
    rf"\b(?P<told>{YEARS}(?:\s+|-)(?:year|yr|month|week|day)s?(?:\s+|-)olds?)\b|"
    rf"\b(?:turn(?:s|ed|ing)?|aged?|age\s+of|at)\s+{ADVERBS}(?P<turned>(?!one\b){YEARS})\b{ENDS}|"
    r"\b(?P<birthday>\d{1,3})(?:st|nd|rd|th)\s+birthday\b|"
    rf"(?<!\bthere)(?:\s(?:am|is|are|was|were)|['’](?:m|s|re))\s+{ADVERBS}(?P<being>{YEARS})\b{ENDS}",
    re.IGNORECASE,
)


def read_age(text: str, asked: Set[str]) -> str:
    """Give the age that stands nearest to what is asked; empty for none.

    Args:
        text: A sentence.
        asked: Stems of the query.
    """
    match = nearest_match(AGE, text, asked)
    return next(filter(None, match.groups()), "") if match else ""
