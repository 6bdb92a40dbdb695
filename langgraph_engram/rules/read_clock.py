"""Read the time of day or the days of the week off a sentence: "7:30 am", "Fridays", "Monday to Friday".

This module does not know which sentence is right.
"""

import re
from collections.abc import Set

from langgraph_engram.rules.nearest import nearest_match
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.patterns import WEEKDAY_NAME

HOUR = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
HOURS = r"(?<![\d.,:])(?:[01]?\d|2[0-3])"
MERIDIEM = r"\s?[ap](?:\.m\.|m\b)"
CLOCK = (
    rf"(?:{HOURS}(?:[:.][0-5]\d)?{MERIDIEM}|{HOURS}:[0-5]\d(?!\d)|(?:{HOURS}|\b(?:{HOUR}))\s+o['’]clock|"
    rf"\b(?:half|quarter|five|ten|twenty)\s+(?:past|to)\s+(?:{HOURS}|{HOUR})\b|\b(?:{HOUR})\s+(?:thirty|fifteen|forty-five)\b|"
    r"\b(?:noon|midnight|midday)\b)"
)
ENDS = (
    r"(?=\s*(?:[.,;!?](?!\d)|$)|"
    r"\s+(?:sharp|in\s+the|on|and|or|but|every|each|most|tonight|tomorrow|this|(?:to|for)\s+bed)\b)"
)
CLOCK_TIME = re.compile(
    rf"(?P<clock>{CLOCK}(?:\s?(?:-|–|to)\s?{CLOCK})?)|\b(?:at|by|around|until|till)\s+(?P<hour>\d{{1,2}}(?:\.[0-5]\d)?|{HOUR}){ENDS}",
    re.IGNORECASE,
)
DAY = rf"(?:{WEEKDAY_NAME}s?|(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\b"
DAYS = re.compile(rf"\b{DAY}(?:(?:,\s*(?:and\s+|or\s+)?|\s+(?:and|or|to|through)\s+|\s?[-–]\s?){DAY})*", re.IGNORECASE)


def read_clock_time(text: str, asked: Set[str]) -> str:
    """Give the time of day that stands nearest to what is asked; empty for none.

    Args:
        text: A sentence.
        asked: Stems of the query.
    """
    match = nearest_match(CLOCK_TIME, text, asked)
    return (match["clock"] or match["hour"]) if match else ""


def read_weekday(one: Utterance, text: str, asked: Set[str]) -> str:
    """Give the days of the week that a sentence names, else that of the one day it tells of; empty for none.

    Args:
        one: The sentence.
        text: What of it is read.
        asked: Stems of the query.
    """
    named = nearest_match(DAYS, text, asked)
    if named:
        return named.group()
    days = [mention.interval.start for mention in find_times(text, one.said_at) if mention.granularity == "day"]
    return f"{days[0]:%A}" if days else ""
