"""Compare when things happened, by the sentences that tell of them: which came first, how long lies between.

Each part of the query is found by itself. What a sentence says of its time counts, else what its record says, else the
day on which it was told. Where a part is found nowhere, nothing is known. This module does not know how queries are
worded.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime

from langgraph_engram.rules.choose_sentence import rarity
from langgraph_engram.rules.coverage import ASKING_WORDS
from langgraph_engram.rules.read_time import nearest_mention
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.schema import Interval
from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.parse import parse_time
from langgraph_engram.text.questions import CalendarUnit, TimeQuestion
from langgraph_engram.text.statements import affirmed
from langgraph_engram.text.tokens import content_stems

HAPPENS = frozenset(
    content_stems(
        "event happen arrival arrive deliver delivery receive purchase buy get order visit attend meet start "
        "begin finish complete completion new do"
    )
)
"""Stems that say that something happened, and not what: it may be told by other words."""
LEAST = 0.51
"""Least share of the weight of a part's words that the sentence of it and its turn say."""
AROUND = 0.6
"""What a word counts that the turn says and the sentence does not."""
BESIDE = 0.25
"""What all words count that the query says of both parts, or of the other."""
TELLS_TIME = 0.15
"""What a time of its own counts."""
LASTING = re.compile(
    r"(?:\b(?:been|have|has|had)|['’]ve)\b[^.;!?]{0,80}?\bfor\s+(?:the\s+(?:past|last)\s+)?"
    r"(?P<amount>(?:(?:about|around|almost|nearly|over)\s+)?[\w-]+(?:\s+\w+)?\s+(?:day|week|month|year)s?)\b",
    re.IGNORECASE,
)
"""What has gone on for so long: it began then."""
DAYS: dict[CalendarUnit, float] = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
LONGEST: tuple[tuple[CalendarUnit, int], ...] = (("day", 13), ("week", 59), ("month", 729))
"""The unit that fits a span, and the days up to which it does."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What comparing times came to."""

    text: str
    places: tuple[int, ...]
    """The pieces it rests on, from 0."""


def compare_times(
    asked: TimeQuestion, said: Sequence[Utterance], now: datetime | None, people: Set[str] = frozenset()
) -> Compared | None:
    """Answer a query that compares times.

    Args:
        asked: What it compares.
        said: The sentences of the evidence.
        now: The moment of asking.
        people: Stems of those who take part and whom the query names: what they say is about them.

    Returns:
        The answer; None where a part is found nowhere, or has no time.
    """
    found = [_find(part, asked, said, people) for part in asked.parts]
    sentences = [one for one in found if one]
    days = [day for one, part in zip(found, asked.parts, strict=True) if one and (day := _day(one, part))]
    if len(days) < len(asked.parts):
        return None
    places = tuple(dict.fromkeys(one.place for one in sentences))
    if asked.asks == "span":
        until = days[1] if len(days) > 1 else now.date() if now else days[0]
        told = _span(abs((until - days[0]).days), asked.unit)
        return None if told.startswith("0 ") else Compared(told, places)
    if days[0] == days[1]:
        return None
    chosen = days.index(min(days) if asked.asks == "first" else max(days))
    part = asked.parts[chosen]
    return Compared(f"{part[:1].upper()}{part[1:]}", places)


def _find(part: str, asked: TimeQuestion, said: Sequence[Utterance], people: Set[str]) -> Utterance | None:
    """Give the sentence that tells of a part; None where none says enough of its words."""
    stems, shared = set(content_stems(part)), set(content_stems(asked.shared)) - ASKING_WORDS
    named = stems & people
    weight = rarity(stems - people - ASKING_WORDS - HAPPENS or stems - people or shared or stems, said)
    others = {stem for one in asked.parts for stem in content_stems(one)} | shared
    best: Utterance | None = None
    most = 0.0
    for one in said:
        own, whole = set(content_stems(affirmed(one.text))), set(content_stems(one.text))
        around = set(content_stems(one.around)) - (whole - own)
        cover = sum(value * (1 if stem in own else AROUND * (stem in around)) for stem, value in weight.items())
        if cover < LEAST or (named and named.isdisjoint(own.union(content_stems(one.speaker)))):
            continue
        score = cover + BESIDE * len(others & (own | around)) / (len(others) or 1)
        score += TELLS_TIME * bool(find_times(one.text, one.said_at))
        if score > most:
            best, most = one, score
    return best


def _day(one: Utterance, part: str) -> date | None:
    """Give the day on which something happened or began: the middle of what is only told by its week, month or year."""
    lasting = LASTING.search(one.text)
    began = parse_time(f"{lasting['amount']} ago", one.said_at) if lasting else None
    if began:
        return _middle(began)
    mentions = find_times(one.text, one.said_at)
    if mentions:
        return _middle(nearest_mention(one.text, mentions, set(content_stems(part))).interval)
    if one.record and one.record.event_start and one.record.event_end:
        return _middle(Interval(start=one.record.event_start, end=one.record.event_end))
    return one.said_at.date() if one.said_at else None


def _middle(interval: Interval) -> date:
    return (interval.start + (interval.end - interval.start) / 2).date()


def _span(days: int, unit: CalendarUnit | None) -> str:
    fits: CalendarUnit = unit if unit else next((one for one, most in LONGEST if days <= most), "year")
    count = round(days / DAYS[fits])
    return f"{count} {fits}{'' if count == 1 else 's'}"
