"""Say what a rule is that reads times: words that wake it, a pattern, and a reader that turns a match into a period.

A pattern that names its year or decade in full has it in a group called `year` or `decade`; all others need a clock.
This module does not know any rule.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

from langgraph_engram.language.periods import Period, Which, choose, yearly
from langgraph_engram.language.tense import Tense, is_habit_at, is_move_at, sentence_before, tense_at
from langgraph_engram.language.time_words import read_full_year

DIGITS = "#"
"""Stands among the words of a text for any number."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A text, and when it was said by the clock of whoever said it."""

    text: str
    clock: datetime

    @property
    def today(self) -> date:
        """Give the day it was said."""
        return self.clock.date()

    def tense(self, start: int, end: int) -> Tense | None:
        """Tell whether the words around a place speak of the past or of the future."""
        return tense_at(self.text, start, end)

    def looks_ahead(self, start: int, end: int) -> bool:
        """Tell whether the words around a place speak of the future."""
        return self.tense(start, end) == "ahead"

    def is_habit(self, start: int, end: int) -> bool:
        """Tell whether the words around a place speak of what happens again and again."""
        return is_habit_at(self.text, start, end)

    def is_move(self, match: re.Match[str]) -> bool:
        """Tell whether a match, "from A to B", is no range, but says where something was moved."""
        return match.group("span")[:4].casefold() == "from" and is_move_at(self.text, match.start("span"))

    def before(self, start: int) -> str:
        """Give the sentence up to a place."""
        return sentence_before(self.text, start)


Read = Callable[[re.Match[str], Saying], Period | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which English tells a time."""

    triggers: frozenset[str]
    """Lower-case words (or `DIGITS`), one of which must occur in the text."""
    pattern: re.Pattern[str]
    """Its group `span` is the mention, without a preposition that is only evidence for it."""
    read: Read
    """Turn a match into a period, or none. May raise ValueError or OverflowError for a day that does not exist."""


@dataclass(frozen=True, slots=True)
class Found:
    """A time found in a text."""

    start: int
    end: int
    period: Period
    relative: bool


def rule(triggers: str, body: str, read: Read, before: str = r"(?<![\w-])", after: str = "") -> Rule:
    """Make a rule: `before` and `after` must surround `body`, which is the mention and ends with a word."""
    pattern = re.compile(rf"{before}(?P<span>{body})(?!\w){after}", re.IGNORECASE)
    return Rule(frozenset(triggers.split()), pattern, read)


def led_by(*words: str) -> str:
    """Give what stands before a mention that only a preposition makes certain."""
    return rf"(?<!\w)(?:{'|'.join(words)})[\s-]+"


def needs_clock(match: re.Match[str]) -> bool:
    """Tell whether a match leaves its year to the clock."""
    groups = match.groupdict()
    return groups.get("decade") is None and not (groups.get("year") or "")[-1:].isdigit()


def in_year(
    match: re.Match[str], saying: Saying, make: Callable[[int], Period], which: Which | None = None
) -> Period | None:
    """Make a period in the year that the match names, or else in the one the sentence leads to.

    Args:
        match: Its groups `year` (as written, or absent) and `span`.
        saying: What was said, and when.
        make: Gives the period of a year; raises ValueError for a year that lacks it.
        which: The occurrence that words before it choose, if any do.
    """
    year = match.groupdict().get("year")
    if year and year[-1].isdigit():
        return make(read_full_year(year))
    if year:
        return make(saying.today.year + {"last": -1, "this": 0, "next": 1}[year.split()[0].casefold()])
    if which is None and "day" not in match.groupdict() and saying.is_habit(*match.span("span")):
        return None
    return choose(which or _which(match, saying), yearly(make, saying.today), saying.today)


def _which(match: re.Match[str], saying: Saying) -> Which:
    tense = saying.tense(*match.span("span"))
    return "nearest" if tense is None else "coming" if tense == "ahead" else "recent"
