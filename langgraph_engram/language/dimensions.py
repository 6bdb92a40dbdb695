"""Read the dimensions of a sentence by its words: type, location, reason, purpose (DimMem section 3.2)."""

import re
from datetime import datetime

from langgraph_engram.language.denials import affirmed
from langgraph_engram.language.times import find_times
from langgraph_engram.schema import MemoryType

PROFILE = re.compile(
    r"\b(?:love[sd]?|likes?|enjoys?|prefers?|hates?|dislikes?|adores?|favou?rites?|always|usually|never|often|allergic|"
    r"vegan|vegetarian|passion(?:ate)?|fan of|into|dream(?:s|ing)? of|afraid of|good at|works? as|i(?:'m| am) an?)\b",
    re.IGNORECASE,
)
EPISODIC = re.compile(
    r"\b(?:went|visited|met|saw|bought|got|made|took|started|finished|moved|joined|attended|won|lost|ran|played|tried|"
    r"signed up|celebrated|had|gave|found|passed|adopted|planning|going to|will|gonna|plan to|about to)\b",
    re.IGNORECASE,
)
LOCATION = re.compile(
    r"\b(?P<leads>in|on|at|to|from|near|around|outside|inside|through)\s+(?:the\s+)?(?P<place>(?!I\b)[A-Z][\w'’-]*(?:\s+(?!I\b)[A-Z][\w'’-]*)*)"
)
REASON = re.compile(
    r"\b(?:because|since|as|due to|thanks to|'cause|cause|cuz)\s+(?=\w+\s)([^.;!?]{8,160})", re.IGNORECASE
)
PURPOSE = re.compile(
    r"\b(?:in order to|so that|so as to|to help|for the sake of|aiming to|hoping to)\s+([^.;!?]{4,160})", re.I
)
MONTHS_AND_DAYS = frozenset(
    (
        "january february march april may june july august september october november december monday tuesday "
        "wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays "
        "christmas easter halloween thanksgiving"
    ).split()
)


def type_of(sentence: str, clock: datetime | None) -> MemoryType:
    """Guess whether a sentence tells an episode, a lasting trait, or a fact."""
    if find_times(sentence, clock):
        return "episodic"
    if PROFILE.search(sentence):
        return "profile"
    return "episodic" if EPISODIC.search(sentence) else "fact"


def location_of(sentence: str) -> str:
    """Give the first place that a preposition leads to, one that somebody comes from last; empty for none.

    Places that a sentence denies are none of its own: "I never went to Paris, but I visited my aunt in Rome".
    """
    found = [match for match in LOCATION.finditer(affirmed(sentence)) if not _is_time(match["place"])]
    return min(found, key=lambda match: match["leads"] == "from")["place"] if found else ""


def _is_time(place: str) -> bool:
    return place.split()[0].casefold() in MONTHS_AND_DAYS


def reason_of(sentence: str) -> str:
    """Give the clause that says why; empty for none."""
    match = REASON.search(sentence)
    return match.group(1).strip() if match else ""


def purpose_of(sentence: str) -> str:
    """Give the clause that says what for; empty for none."""
    match = PURPOSE.search(sentence)
    return match.group(1).strip() if match else ""
