"""Read yes or no off a sentence that says so: not off a wish, a condition or a plan, nor off half of what is asked.

This module does not know which sentence is right.
"""

import re
from collections.abc import Set

from langgraph_engram.language.endings import stems_over
from langgraph_engram.rules.coverage import ASKING_WORDS
from langgraph_engram.rules.nearest import nearest_first
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.text.statements import affirmed
from langgraph_engram.text.tokens import content_stems

DENIES = re.compile(r"\b(?:no|not|never|nope|nah|none|\w+n['’]t|without|hardly)\b", re.IGNORECASE)
SUPPOSES = re.compile(r"^\W*(?:would|could|might|may|should)\b|\blikely\b", re.IGNORECASE)
"""Queries that ask for a judgement, which no sentence can be read for."""
UNREAL = re.compile(
    r"\b(?:if|wish(?:es|ed)?|almost|nearly|might|(?-i:may)|could|would|should|hop(?:e|es|ing)|thinking\s+(?:of|about)|"
    r"consider(?:s|ing)?|dream(?:s|ing)?\s+of|maybe|perhaps|probably|hopefully|possibly|(?:plan(?:s|ning)?|wants?|wanted|going)\s+to|too\s+\w+\s+(?:for|to))\b|"
    r"['’](?:ll|d)\b",
    re.IGNORECASE,
)
"""What a sentence says that need not have come about."""
JOINED = re.compile(r"\b([A-Z]\w+)\s+and\s+([A-Z]\w+)")
"""Two people of whom something is asked: who is one of them tells of it."""
PLAINLY = re.compile(
    r"^\W*(?:oh\W+)?(?:yes|yeah|yep|yup|sure|of course|absolutely|definitely|totally|indeed|exactly|no|nope|nah|"
    r"never)\b",
    re.IGNORECASE,
)
"""How a reply says so that says nothing else of what is asked."""
STRESSING = frozenset(content_stems("still ever already yet really actually both"))
"""Stems of a query that say nothing of what is asked for."""
CHOOSES = re.compile(r"\b(?:prefer\w*|rather|cho(?:o|se)\w*|pick\w*|more|better|older|younger)\b", re.IGNORECASE)
CHOICE = re.compile(
    r"(?<![\w'’-])(?P<one>[\w'’-]{1,40})(?:,?\s+or\s+)(?:an?\s+|the\s+|in\s+|at\s+)?(?P<other>[\w'’-]{1,40})(?:\s+\w+)?\W*$",
    re.IGNORECASE,
)
"""Queries that offer two answers."""


def read_yes_no(query: str, one: Utterance, asked: Set[str]) -> str:
    """Give "Yes" or "No", or which of two things that a query offers; empty where the sentence does not say.

    Args:
        query: The question.
        one: The sentence.
        asked: Stems of the question, names included.
    """
    if SUPPOSES.search(query):
        return ""
    choice = CHOICE.search(query) if CHOOSES.search(query) else None
    if choice:
        return _chosen(choice, one.text, asked)
    if not says_all(query, one) or (UNREAL.search(one.text) and not UNREAL.search(query)):
        return ""
    if not stems_over(query, one.text).isdisjoint(asked):
        return "No"
    if asked.isdisjoint(content_stems(one.text)) and not PLAINLY.search(one.text):
        return ""
    return "No" if DENIES.search(_asked_part(one.text, asked)) else "Yes"


def says_all(query: str, one: Utterance) -> bool:
    """Say whether a sentence, with its speaker, its turn and the question it replies to, mentions all that is asked."""
    joined = [name for match in JOINED.finditer(query) for name in match.groups()]
    people = " ".join(joined) if one.speaker in joined else one.speaker
    said = set(content_stems(f"{people} {one.answers} {one.around} {one.text}"))
    return set(content_stems(query)) - ASKING_WORDS - STRESSING <= said


def _chosen(choice: re.Match[str], text: str, asked: Set[str]) -> str:
    """Give the one of two things that a sentence names, or that stands nearer to what else is asked."""
    offered = {stem: word for word in choice.groups() for stem in content_stems(word)}
    named = [
        match
        for match in re.finditer(r"[\w'’-]+", affirmed(text))
        if not offered.keys().isdisjoint(content_stems(match.group()))
    ]
    near = nearest_first(named, re.Match.span, text, asked - offered.keys())
    return next((offered[stem] for match in near for stem in content_stems(match.group()) if stem in offered), "")


def _asked_part(text: str, asked: Set[str]) -> str:
    """Give what a sentence affirms where that holds all that it says of what is asked; else the whole."""
    part = affirmed(text)
    return part if asked & set(content_stems(text)) <= set(content_stems(part)) else text
