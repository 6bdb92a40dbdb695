"""Tell what a sentence says is over from what still holds: "I left the bank", "when I lived in Oslo".

English, by a list of verbs and turns of speech. This module does not know what is asked.
"""

import re

from langgraph_engram.language.tokens import content_stems

PRESENT = re.compile(r"^\W*(?:(?:what|where|who|which)\b.{0,30}?\b)?(?:is|are|am|does|do)\b|\bstill\b", re.IGNORECASE)
ENDED = re.compile(
    r"\b(?:sold|quit|left|leaving|lost|cancell?ed|stopped|(?:broke|split)\s+up|(?:gave|given)\s+(?:up|away)|no\s+longer|"
    r"used\s+to|any\s?more|returned|resigned|retired|divorced|moved\s+out)\b",
    re.IGNORECASE,
)
PAST = re.compile(
    r"\b(?:back\s+)?when\s+(?:I|we)\s+(?:lived|was|were|worked|had|stayed)\b[^,.;!?]*|\bused\s+to\b[^,.;!?]*|"
    r"\b(?:left|quit|leaving)\s+(?:(?:the|my|our)\s+)?[^,.;!?]*?(?=\s+(?:and|to|for|because|but|so)\b|[,.;!?]|$)",
    re.IGNORECASE,
)
"""What of a sentence tells of what was, and is not."""


def asks_for_present(query: str) -> bool:
    """Say whether a query asks for what is so now ("Where does Ana work?", "Is she still there?")."""
    return PRESENT.search(query) is not None


def says_over(query: str, text: str) -> bool:
    """Say whether a sentence says, in a word that the query does not use, that what it asks for is over."""
    match = ENDED.search(text) if asks_for_present(query) else None
    return match is not None and set(content_stems(match.group())).isdisjoint(content_stems(query))


def still_so(text: str) -> str:
    """Give a sentence without what it says was so and is over; empty where it says nothing else."""
    return PAST.sub("", text).strip()
