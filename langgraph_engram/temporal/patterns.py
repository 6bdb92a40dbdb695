"""Hold the English words that times are mentioned in, as parts of patterns, and define the rules that read them.

A rule has words that trigger it, a pattern, and a reader, under it, which turns a match into a period. A pattern that
names its year in full has it in a group called `year`; all others need a clock.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from langgraph_engram.temporal.datetimes import STEPS, Period, Unit, Which
from langgraph_engram.temporal.tense import Utterance

DIGITS = "#"
"""The trigger word that stands for any number."""
WEEKDAYS = "mon tue wed thu fri sat sun".split()
UP_TO_NINETEEN = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SPELLED = {word: value for value, word in enumerate(UP_TO_NINETEEN, start=1)} | {
    word: 10 * value for value, word in enumerate(TENS, start=2)
}
NUMBERS = SPELLED | {"a": 1, "an": 1, "another": 1}
VAGUE_NUMBERS = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
"""The least and the greatest value of a vague number."""
UNITS: dict[str, Unit] = {unit: unit for unit in STEPS} | {"night": "day", "yr": "year"}
WHICHES: dict[str, Which] = {
    "past": "recent", "last": "last", "coming": "coming", "upcoming": "coming", "this": "this", "next": "next"
}  # fmt: skip
"""The occurrence that a word before a period chooses."""
MONTH = (
    r"(?:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?|july?|aug(?:ust|\.)?|"
    r"sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)(?![a-z])"
)
FULL_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?![a-z])"
WEEKDAY = rf"(?:{FULL_WEEKDAY}|(?-i:(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?:\b\.(?=,|\s*\d))?)(?![a-z]))"
"""A weekday in full, or short with a capital: "sat" and "sun" are words."""
DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?!\d|:\d)"
FULL_YEAR = r"(?:1[5-9]|20|21)\d\d(?![\d%])(?!\.\d)"
COUNT = (
    rf"(?:(?<![\d][.,])\d{{1,3}}|(?:{'|'.join(TENS)})[\s-](?:{'|'.join(UP_TO_NINETEEN[:9])})|"
    rf"{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
)
AMOUNT = rf"(?:(?:a\s+)?(?:couple|few)(?:\s+of)?|several|{COUNT})"
UNIT = r"(?:day|night|week|weekend|month|year|yr)"
PART_OF_DAY = r"(?:\s+(?:early\s+|late\s+)?(?:morning|afternoon|evening|night)(?![a-z]))"
WHICH = r"(?:(?:the\s+|this\s+)?(?:past|last|coming|upcoming)|this|(?<!the\s)next)"
"""Not "the next" nor "previous": in a story they count from what was mentioned before."""
UNTIL = r"\s*(?:-|–|—|to|until|till|thru|through)\s*"
"""Between the ends of a range."""


def read_weekday(word: str) -> int:
    """Return the number of a weekday; Monday is 0."""
    return WEEKDAYS.index(word[:3].casefold())


def read_amount(words: str) -> tuple[int, int]:
    """Return the least and the greatest number that the words mean."""
    for word in words.casefold().split():
        if word in VAGUE_NUMBERS:
            return VAGUE_NUMBERS[word]
    number = int(words) if words.isdecimal() else sum(NUMBERS[word] for word in re.split(r"[\s-]", words.casefold()))
    return number, number


Read = Callable[[re.Match[str], Utterance], Period | None]


@dataclass(frozen=True)
class Rule:
    """One way in which English mentions a time."""

    expression: str
    """Its group `span` is the mention, without a preposition that is only evidence for it."""
    read: Read
    """Turn a match into a period, or None. May raise ValueError or OverflowError for a day that does not exist."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the compiled expression; compiled when a trigger first occurs, since most never do in a process."""
        return re.compile(self.expression, re.IGNORECASE)


class Rules(list[Rule]):
    """Rules that share their triggers: lower-case words (or `DIGITS`), any of which must occur in the text."""

    def __init__(self, triggers: str) -> None:
        super().__init__()
        self.triggers = frozenset(triggers.split())

    def reads(self, body: str, before: str = r"(?<![\w-])", after: str = "") -> Callable[[Read], Read]:
        """Add a rule: `before` and `after` must surround `body`, which is the mention and ends with a word."""

        def add(read: Read) -> Read:
            self.append(Rule(rf"{before}(?P<span>{body})(?!\w){after}", read))
            return read

        return add


def led_by(*words: str) -> str:
    """Return the pattern before a mention that only a preposition makes certain."""
    return rf"(?<!\w)(?:{'|'.join(words)})[\s-]+"
