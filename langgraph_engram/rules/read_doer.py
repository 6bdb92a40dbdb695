"""Read who does or is something off a sentence: its speaker, for "I went", or whom it names before the verb.

This module does not know which sentence is right.
"""

import re
from collections.abc import Set

from langgraph_engram.rules.read_names import KIN, NAME, is_new
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.text.keywords import VAGUE_WORDS
from langgraph_engram.text.statements import speaks_of_self
from langgraph_engram.text.tokens import WORD, content_stems

ASKS_FOR_DOER = re.compile(
    r"^\W*who(?:['’](?:s|ll)|\s+(?:is|are|was|were|will|has|have|had|would|can|could|wants?|got)(?:\s+(?:to|be|been))?)?\s+"
    r"(?!(?:is|are|was|were|did|does|do|the|an?|my|our|your|his|her|their|this|that|I|we|you|he|she|they)\b)"
    r"(?P<deed>(?-i:[a-z])[\w-]*)(?!['’]s)",
    re.IGNORECASE,
)
"""Queries for whoever does something: "Who went to Paris?", but not "Who is Runa?" or "Who did I meet?"."""
DOER = re.compile(
    rf"(?P<together>{NAME}\s+and\s+(?:I|me)\b)|(?P<own>\b(?:I|we)\b)|(?P<relative>\b(?:my|our)\s+(?:\w+\s+)?{KIN}\b)|"
    rf"(?P<name>{NAME})",
    re.IGNORECASE,
)
OFFERED = re.compile(rf"{NAME}(?:,\s+{NAME}){{0,4}},?\s+or\s+{NAME}\W{{0,5}}$", re.IGNORECASE)
"""Names that a query offers to choose from."""
ROLES = ("user", "assistant")
"""Speakers without a name."""
LEAST = 2
"""Letters of a name, at least."""


def asks_for_doer(query: str) -> bool:
    """Say whether a query asks who does or is something."""
    return ASKS_FOR_DOER.search(query) is not None


def read_doer(query: str, one: Utterance, text: str, asked: Set[str]) -> str:
    """Give who does what is asked; empty where the sentence does not say.

    Args:
        query: A question for whoever does something.
        one: The sentence, whose speaker "I" stands for.
        text: What of it is read.
        asked: Stems of the query.
    """
    offered = OFFERED.search(query)
    asked = asked - set(content_stems(offered.group())) if offered else asked
    verb = ASKS_FOR_DOER.search(query)
    deed = set(content_stems(verb["deed"])) if verb else set()
    words = (match for match in WORD.finditer(text) if not (deed or asked).isdisjoint(content_stems(match.group())))
    place = next((match.start() for match in words), -1)
    before = [match for match in DOER.finditer(text, 0, max(place, 0)) if _may_be(match)]
    if place < 0 or (not before and text[:place].strip(" ,.!–—-")):
        return ""
    speaker = f"the {one.speaker}" if one.speaker in ROLES else one.speaker
    doers = [_named(match, speaker) for match in reversed(before)] or [speaker]
    others = (doer for doer in doers if doer != speaker or not speaks_of_self(query))
    return next((doer for doer in others if is_new(doer, asked)), "")


def _may_be(match: re.Match[str]) -> bool:
    """Say whether a name is one: not what a sentence opens with before a comma, "Plus, it rained"."""
    opens = match.string[match.end() :].startswith(",") and not match.string[: match.start()].strip()
    return match["name"] is None or (len(_bare(match["name"])) >= LEAST and not opens)


def _bare(name: str) -> str:
    """Leave out what begins a sentence and is no name: "And Ada"."""
    return " ".join(word for word in name.split() if word.casefold() not in VAGUE_WORDS)


def _named(match: re.Match[str], speaker: str) -> str:
    if match["together"]:
        return re.sub(r"\b(?:I|me)$", speaker, match["together"])
    if match["relative"]:
        relative = match["relative"].split(maxsplit=1)[1]
        return f"{speaker}'s {relative}"
    return _bare(match["name"]) if match["name"] else speaker
