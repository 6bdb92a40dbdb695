"""Find the verbs of a query, and those that people use for the same in an answer.

This module does not know the evidence.
"""

import re

from langgraph_engram.text.questions import AUXILIARY
from langgraph_engram.text.tokens import content_stems

ALIKE = (
    "symbolize symbolise represent mean stand signify symbol reminder remind",
    "buy get purchase order grab acquire pick",
    "create make build design craft paint draw write",
    "start begin launch open found",
    "recommend suggest advise",
    "like love enjoy prefer favorite favourite fave fav fan adore",
    "visit travel trip go",
    "receive get give win gift",
    "attend join go participate sign",
    "feel felt feeling emotion",
    "say tell mention describe",
    "plan hope want gonna will goal",
    "inspire motivate encourage drive push",
    "use help",
    "learn teach lesson realize realise",
    "work job career",
    "live move stay",
    "see watch spot notice",
    "own have keep",
    "share show post",
)
"""Everyday verbs that answer for one another, with the nouns of the same root."""
GROUPS = [frozenset(content_stems(group)) for group in ALIKE]
VERB = re.compile(rf"\b(?:{AUXILIARY})\b(?:n['’]t)?(?P<rest>.*)$", re.IGNORECASE)


def verb_stems(query: str) -> frozenset[str]:
    """Give the stems of a query that stand after its auxiliary and are known as verbs, with those alike."""
    match = VERB.search(query)
    stems = set(content_stems(match.group("rest") if match else query))
    return frozenset(stem for group in GROUPS if group & stems for stem in group)
