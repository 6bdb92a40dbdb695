"""Say what a rule is that reads times: words that wake it, a pattern, and a reader that turns a match into a period.

A pattern that names its year or decade in full has it in a group called `year` or `decade`; all others need a clock.
This module does not know any rule.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from langgraph_engram.language.periods import Period, Which, choose, yearly
from langgraph_engram.language.time_words import read_full_year

FAR = 100
"""How many characters before a time, and half as many after it, can say that it lies ahead."""
AHEAD = re.compile(
    r"\b(?:will|won['’]t|shall|gonna|going\s+to|plan(?:s|ning)?|upcoming|coming|can(?:['’]t|not)\s+wait|"
    r"look(?:ing)?\s+forward|hop(?:e|es|ing)\s+to|wants?\s+to|want\s+to|excited\s+(?:for|about|to)|see\s+you|let['’]?s|"
    r"tomorrow|scheduled|supposed\s+to|should|due|deadline|preparing|getting\s+ready|next(?!\s+to)|about\s+to|"
    r"be\s+there|starts?|starting|leav(?:e|es|ing)\s+(?:for|on)|soon|remind(?:er)?)\b|['’]ll\b|"
    r"(?:['’](?:m|re|s)|\b(?:am|are|is))\s+(?:\w+ly\s+|also\s+|just\s+)?"
    r"(?:going|coming|leaving|flying|driving|moving|heading|travell?ing|visiting|meeting|seeing|having|hosting|throwing|"
    r"taking|getting|running|giving|launching|attending|performing|opening|joining|hiking|camping)\b",
    re.IGNORECASE,
)
BEHIND = re.compile(
    r"\b(?:was|were|did|didn['’]t|had|ago|yesterday|since|last|went|saw|got|came|made|took|gave|felt|met|won|lost|told|said|"
    r"ran|left|found|held|began|ate|bought|broke|brought|built|caught|chose|drank|drew|drove|fell|flew|forgot|fought|grew|"
    r"heard|kept|knew|led|paid|rode|sang|sent|slept|sold|spent|spoke|stood|swam|taught|thought|threw|woke|wore|wrote|"
    r"ended|visited|attended|started|finished|happened)\b",
    re.IGNORECASE,
)
LIMIT = re.compile(r"\b(?:by|until|till)\s+(?:the\s+)?$", re.IGNORECASE)
PAST_TENSE = re.compile(
    r"\b(?!need|excited|scheduled|supposed|interested|planned|indeed|booked|wedding|speed|based|limited)[a-z]{2,}ed\b",
    re.IGNORECASE,
)
"""A weaker hint, for it may be a participle."""
SENTENCE_END = re.compile(r"[.!?\n](?=\s|$)")
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

    def tense(self, start: int, end: int) -> Literal["ahead", "behind"] | None:
        """Tell of what the sentence around a place speaks: the nearest hint before the place decides."""
        before = self.before(start)
        ahead, behind = _last(AHEAD, before), _last(BEHIND, before)
        if ahead >= 0 or behind >= 0:
            return "ahead" if ahead > behind else "behind"
        if LIMIT.search(before):
            return "ahead"
        if PAST_TENSE.search(before):
            return "behind"
        after = SENTENCE_END.split(self.text[end : end + FAR // 2])[0]
        ahead, behind = _last(AHEAD, after), _last(BEHIND, after)
        return None if ahead == behind else "ahead" if behind < 0 else "behind"

    def looks_ahead(self, start: int, end: int) -> bool:
        """Tell whether the sentence around a place speaks of the future."""
        return self.tense(start, end) == "ahead"

    def before(self, start: int) -> str:
        """Give the sentence up to a place."""
        return SENTENCE_END.split(self.text[max(0, start - FAR) : start])[-1]


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
    occurrences = list(yearly(make, saying.today))
    if which is None:
        tense = saying.tense(*match.span("span"))
        is_day = any(one.granularity == "day" for one in occurrences)
        which = "coming" if tense == "ahead" else "nearest" if tense is None and is_day else "recent"
    return choose(which, occurrences, saying.today)


def _last(pattern: re.Pattern[str], text: str) -> int:
    places: Iterator[int] = (match.start() for match in pattern.finditer(text))
    return max(places, default=-1)
