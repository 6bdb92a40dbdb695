"""Read the time of day or the day of the week off a sentence: "7:30 am", "Friday".

This module does not know which sentence is right.
"""

import re
from collections.abc import Sequence, Set

from langgraph_engram.language.times import find_times
from langgraph_engram.language.tokens import WORD, content_stems
from langgraph_engram.rules.utterances import Utterance

HOUR = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
MERIDIEM = r"\s?[ap](?:\.m\.|m\b)"
CLOCK = (
    rf"(?:\d{{1,2}}(?::\d{{2}})?{MERIDIEM}|\d{{1,2}}:\d{{2}}|(?:\d{{1,2}}|{HOUR})\s+o['’]clock|noon|midnight|midday)"
)
CLOCK_TIME = re.compile(
    rf"\b(?:{CLOCK}|(?:half|quarter)\s+(?:past|to)\s+(?:\d{{1,2}}|{HOUR}))(?:\s?(?:-|–|to)\s?{CLOCK})?|"
    rf"(?<=\b(?:at|by)\s)(?:\d{{1,2}}|{HOUR})(?=\s*(?:[.,;!?]|$)|\s+(?:sharp|in\s+the|on|and|or|every)\b)",
    re.IGNORECASE,
)
DAY_OF_WEEK = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)


def read_clock_time(text: str, asked: Set[str]) -> str:
    """Give the time of day that stands nearest to what is asked; empty for none.

    Args:
        text: A sentence.
        asked: Stems of the query.
    """
    return _nearest([match for match in CLOCK_TIME.finditer(text) if match.group()], text, asked)


def read_weekday(one: Utterance, text: str, asked: Set[str]) -> str:
    """Give the day of the week that a sentence names, else that of the one day it tells of; empty for none.

    Args:
        one: The sentence.
        text: What of it is read.
        asked: Stems of the query.
    """
    named = _nearest(list(DAY_OF_WEEK.finditer(text)), text, asked)
    days = [mention.interval.start for mention in find_times(text, one.said_at) if mention.granularity == "day"]
    return named or (f"{days[0]:%A}" if days else "")


def _nearest(found: Sequence[re.Match[str]], text: str, asked: Set[str]) -> str:
    """Give the match that stands nearest to a word that is asked, in characters; the first without any."""
    places = [match.start() for match in WORD.finditer(text) if not asked.isdisjoint(content_stems(match.group()))]
    nearest = min(found, key=lambda one: min((abs(one.start() - place) for place in places), default=0), default=None)
    return nearest.group() if nearest else ""
