"""Hold the English words that times are mentioned in, as parts of patterns, and define the rules that read them.

A rule has words that trigger it, a pattern, and a reader that turns a match into a period. A pattern that names its
year or decade in full has it in a group called `year` or `decade`; all others need a clock.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from langgraph_engram.schema import DateOrder
from langgraph_engram.temporal.periods import STEPS, Period, Unit, Which, choose, days_between, yearly
from langgraph_engram.temporal.tense import Tense, is_habit_at, sentence_after, sentence_before, tense_at

CENTURY = 100
PIVOT = 50
"""Two-digit years below it belong to this century, the others to the last."""
MOST_DAYS_WITHOUT_YEAR = 305
"""A date without its year that would lie more than ten months away is something else."""
MOST_DAYS_WITHOUT_TENSE = 120
"""Days to the nearest occurrence that is meant where no word shows the tense: the others are twice as far."""
DIGITS = "#"
"""The trigger word that stands for any number."""
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()
UP_TO_TWENTY = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()
NUMBERS = {word: number for number, word in enumerate(UP_TO_TWENTY, start=1)} | {
    "a": 1, "an": 1, "another": 1, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60
}  # fmt: skip
VAGUE_NUMBERS = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
"""The least and the greatest value of a vague number."""
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
    "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
).split()
DECADES = "twenties thirties forties fifties sixties seventies eighties nineties".split()
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
ORDINAL = rf"(?:(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)|{'|'.join(sorted(ORDINALS, key=len, reverse=True))})"
FULL_YEAR = r"(?:1[5-9]|20|21)\d\d(?![\d%])(?!\.\d)"
YEAR = rf"(?:{FULL_YEAR}(?!-\d)|['’]\d\d(?!\d)|(?:last|this|next)\s+year)"
COUNT = (
    rf"(?:(?<![\d][.,])\d{{1,3}}|(?:twenty|thirty|forty|fifty|sixty)[\s-](?:one|two|three|four|five|six|seven|eight|nine)|"
    rf"{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
)
AMOUNT = rf"(?:(?:a\s+)?(?:couple|few)(?:\s+of)?|several|{COUNT})"
UNIT = r"(?:day|night|week|weekend|month|year|yr|decade)"
SEASON = r"(?:spring|summer|autumn|fall|winter)"
PART_OF_DAY = r"(?:\s+(?:early\s+|late\s+)?(?:morning|afternoon|evening|night)(?![a-z]))"
WHICH = r"(?:(?:the\s+|this\s+)?(?:past|last|coming|upcoming)|this|(?<!the\s)next)"
"""Not "the next" nor "previous": in a story they count from what was mentioned before."""
UNTIL = r"\s*(?:-|–|—|to|until|till|thru|through)\s*"
"""Between the ends of a range."""
FUNCTION_WORDS = frozenset(
    (
        "a after again ago all alone already also although an and are around as at because been before but by "
        "can could did do does during early either even evening for from had has have he her here his how i "
        "if in instead into is it its just last late later like me might morning my next night no not now of "
        "off on or our out over per she should since so some that the their them then there they this though "
        "through till to together today too under until us was we were what when where which while who why "
        "will with without would yet you your afternoon anyway both"
    ).split()
)
"""Words that may follow a date; another lower-case word after it makes the date a part of a name or a quantity."""
CONTRACTED = re.compile(r"['’](?:m|re|s|ve|d|ll)$")
NEXT_WORD = re.compile(r"\s+([a-z]+(?:['’][a-z]+)?)")
PERSON = re.compile(
    r"(?i)\b(?:i|me|my|mine|we|us|our|ours|you|your|he|him|she|her|let['’]?s|can['’]?t\s+wait)\b|^\W*(?!during\b)[a-z]+(?:ing|ed)\b"
)
"""Words for people, or a verb that opens a sentence without its "I"."""


def read_month(word: str) -> int:
    """Return the number of a month, 1 to 12."""
    return MONTHS.index(word[:3].casefold()) + 1


def read_weekday(word: str) -> int:
    """Return the number of a weekday; Monday is 0."""
    return WEEKDAYS.index(word[:3].casefold())


def read_day(word: str) -> int:
    """Return the number of a day of the month, in digits or as an ordinal."""
    plain = "-".join(word.casefold().split())
    return ORDINALS.index(plain) + 1 if plain in ORDINALS else int(plain.rstrip("stndrh"))


def read_full_year(word: str) -> int:
    """Return the year that two or four digits mean."""
    digits = int(word.lstrip("'’"))
    if digits >= CENTURY:
        return digits
    return digits + (20 if digits < PIVOT else 19) * CENTURY


def read_amount(words: str) -> tuple[int, int]:
    """Return the least and the greatest number that the words mean."""
    for word in words.casefold().split():
        if word in VAGUE_NUMBERS:
            return VAGUE_NUMBERS[word]
    number = int(words) if words.isdecimal() else sum(NUMBERS[word] for word in re.split(r"[\s-]", words.casefold()))
    return number, number


def read_unit(word: str) -> Unit:
    """Return a calendar unit."""
    return UNITS[word.casefold()]


def read_which(words: str) -> Which:
    """Return which of several occurrences the words choose."""
    return WHICHES[words.split()[-1].casefold()]


def is_part_of_name(text: str, end: int) -> bool:
    """Return whether the word after `end` makes the words before it part of a name or a quantity."""
    follower = NEXT_WORD.match(text, end)
    return follower is not None and CONTRACTED.sub("", follower.group(1)) not in FUNCTION_WORDS


@dataclass(frozen=True, slots=True)
class Utterance:
    """A text, and when it was said by the speaker's clock."""

    text: str
    clock: datetime
    date_order: DateOrder | None = None
    """The order in which the speaker writes the numbers of a date, where known."""

    @property
    def today(self) -> date:
        """Return the day on which it was said."""
        return self.clock.date()

    def tense(self, match: re.Match[str], *, certain: bool = False) -> Tense | None:
        """Return whether the words around a mention speak of the past or of the future; see `tense_at`."""
        return tense_at(self.text, *match.span("span"), certain=certain)

    def is_habit(self, match: re.Match[str]) -> bool:
        """Return whether the words around a mention speak of what happens again and again."""
        return is_habit_at(self.text, *match.span("span"))

    def before(self, match: re.Match[str]) -> str:
        """Return the sentence up to a mention."""
        return sentence_before(self.text, match.start("span"))

    def speaks_of_people(self, match: re.Match[str]) -> bool:
        """Return whether the sentence around a mention speaks of somebody, not of what holds nowadays or in general."""
        return PERSON.search(f"{self.before(match)} {sentence_after(self.text, match.end('span'))}") is not None


Read = Callable[[re.Match[str], Utterance], Period | None]


@dataclass(frozen=True)
class Rule:
    """One way in which English mentions a time."""

    triggers: frozenset[str]
    """Lower-case words (or `DIGITS`), any of which must occur in the text."""
    expression: str
    """Its group `span` is the mention, without a preposition that is only evidence for it."""
    read: Read
    """Turn a match into a period, or None. May raise ValueError or OverflowError for a day that does not exist."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the compiled expression; compiled when a trigger first occurs, since most never do in a process."""
        return re.compile(self.expression, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundTime:
    """A time found in a text."""

    start: int
    end: int
    period: Period
    relative: bool


def rule(triggers: str, body: str, read: Read, before: str = r"(?<![\w-])", after: str = "") -> Rule:
    """Make a rule: `before` and `after` must surround `body`, which is the mention and ends with a word."""
    return Rule(frozenset(triggers.split()), rf"{before}(?P<span>{body})(?!\w){after}", read)


def led_by(*words: str) -> str:
    """Return the pattern before a mention that only a preposition makes certain."""
    return rf"(?<!\w)(?:{'|'.join(words)})[\s-]+"


def needs_clock(match: re.Match[str]) -> bool:
    """Return whether a match leaves its year to the clock."""
    groups = match.groupdict()
    return groups.get("decade") is None and not (groups.get("year") or "")[-1:].isdigit()


def in_year(
    match: re.Match[str],
    utterance: Utterance,
    make: Callable[[int], Period],
    *,
    needs_tense: bool = False,
) -> Period | None:
    """Make a period in the year that the groups `year` or `which` of a match name, or that the sentence suggests.

    `make` raises ValueError for a year that lacks the period. It may need a word that shows the tense.
    """
    year, which = match.groupdict().get("year"), match.groupdict().get("which")
    if year and year[-1].isdigit():
        return make(read_full_year(year))
    if year:
        return make(utterance.today.year + {"last": -1, "this": 0, "next": 1}[year.split()[0].casefold()])
    occurrences = list(yearly(make, utterance.today))
    if which:
        return choose(read_which(which), occurrences, utterance.today)
    tense = utterance.tense(match, certain=True)
    if utterance.is_habit(match) or (needs_tense and not tense):
        return None
    period = _choose_year(tense, occurrences, utterance.today)
    if period or tense or utterance.tense(match) is None:
        return period
    return _choose_year("behind", occurrences, utterance.today)


def _choose_year(tense: Tense | None, occurrences: Sequence[Period], today: date) -> Period | None:
    """Choose the occurrence that a date without its year means; None where that is uncertain."""
    which: Which = "nearest" if tense is None else "coming" if tense == "ahead" else "recent"
    period = choose(which, occurrences, today)
    farthest = MOST_DAYS_WITHOUT_TENSE if tense is None else MOST_DAYS_WITHOUT_YEAR
    return period if period and days_between(period, today) <= farthest else None
