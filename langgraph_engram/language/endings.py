"""Tell what a sentence says is over from what still holds: "I left the bank", "when I lived in Oslo".

English, by a list of verbs with what they put an end to. This module does not know what is asked.
"""

import re

from langgraph_engram.text.tokens import content_stems

PRESENT = re.compile(r"^\W*(?:(?:what|where|who|which)\b.{0,30}?\b)?(?:is|are|am|does|do)\b|\bstill\b", re.IGNORECASE)
ENDS = (
    r"sold|quit|left|resigned\s+from|retired\s+from|cancell?ed|divorced|moved\s+out\s+of|gave\s+(?:up|away)|"
    r"given\s+(?:up|away)|stopped|broke\s+up\s+with|split\s+(?:up\s+)?(?:with|from)|no\s+longer\s+\w+|used\s+to\s+\w+"
)
STOPS = r"(?:and|but|so|because|in|on|at|to|for|of|with|last|this|next|when|early|yesterday|today)\b"
THING = rf"(?P<thing>(?:(?!{STOPS})[\w’-]+\s?){{1,3}})"
OVER = re.compile(
    rf"\b(?:{ENDS})\s+(?:(?:the|my|our|an?|at|in|for)\s+)?{THING}|(?P<who>\b[A-Z][\w’-]*)\s+and\s+I\s+(?:broke|split)\s+up\b|"
    r"\bthe\s+(?P<event>[\w’-]+)\s+(?:was|is|has\s+been|got)\s+(?:cancell?ed|over)\b",
    re.IGNORECASE,
)
"""What a sentence says is over, behind the verb that ends it or before it."""
ANEW = re.compile(r"\b(?:bought|got|found|started|joined)\s+(?:an?|the|another)\b|\bearly\s+today\b", re.IGNORECASE)
"""What says that another one takes its place, or that it is over for a day."""
PAST = re.compile(
    r"\b(?:back\s+)?when\s+(?:I|we)\s+(?:lived|was|were|worked|had|stayed)\b[^,.;!?]*|\bused\s+to\b[^,.;!?]*|"
    r"\b(?:left|quit)\s+(?:the\s+)?(?-i:[A-Z])[^,.;!?]*?(?=\s+(?:and|to|for|because|but|so)\b|[,.;!?]|$)",
    re.IGNORECASE,
)
"""What of a sentence tells of what was, and is not."""


def asks_for_present(query: str) -> bool:
    """Say whether a query asks for what is so now ("Where does Ana work?", "Is she still there?")."""
    return PRESENT.search(query) is not None


def stems_over(query: str, text: str) -> set[str]:
    """Give the stems of what a sentence says is over, by its last word; none where a query is for no present.

    None either where the query says itself that it is over.
    """
    match = OVER.search(text) if asks_for_present(query) and not ANEW.search(text) else None
    if match is None:
        return set()
    thing = (match["thing"] or match["who"] or match["event"]).split()[-1]
    verb = set(content_stems(match.group())) - set(content_stems(thing))
    return set() if verb & set(content_stems(query)) else set(content_stems(thing))


def still_so(text: str) -> str:
    """Give a sentence without what it says was so and is over; empty where it says nothing else."""
    return PAST.sub("", text).strip()
