"""Read dates that name a day, a month, a season, a year or a decade, in the orders that English writes them.

What lacks its year lies where its clause looks, behind or ahead, and is the nearest where the clause does not say; a
habit has no date. Numbers whose order is uncertain ("5/7/2023") are not read. This module does not know words that
count from today.
"""

import re
from datetime import UTC, date, datetime, time, timedelta

from langgraph_engram.language import time_words as words
from langgraph_engram.language.periods import Period, day_of, moment, month_of, season_of, unit_of, year_of
from langgraph_engram.language.time_rule import DIGITS, Rule, Saying, in_year, led_by, rule
from langgraph_engram.language.time_words import DAY_NUMBER, FULL_YEAR, MONTH, ORDINAL, SEASON, WEEKDAY, YEAR

MONTH_TRIGGERS = (
    "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov "
    "november dec december"
)
SEASON_TRIGGERS = "spring summer autumn fall winter"
ORDINAL_TRIGGERS = f"{DIGITS} {' '.join(ordinal.split('-')[-1] for ordinal in words.ORDINALS)}"
YEAR_FOLLOWS = rf"(?:(?:,?\s+|[,.])(?:of\s+|in\s+)?(?P<year>{YEAR}))?"
TIME_OF_DAY = (
    r"(?:(?:T|\s+|\s+\([a-z]{3,9}\)\s+)(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)"
    r"(?::(?P<second>[0-5]\d)(?:\.\d+)?)?\s?(?P<zone>Z(?![a-z])|[+-]\d\d:?\d\d(?!\d))?)?"
)
NOT_A_YEAR = (
    r"(?!,\d|\s*(?:%|°|[$€£]|(?:dollars?|euros?|pounds?|people|steps|miles|km|kilomet\w+|met(?:er|re)s|calories|words|pages|"
    r"points|hours|minutes|days|members|users|followers|square|sq|times|views|copies|units|degrees|rpm|pieces|students|"
    r"employees|bucks|grams|feet|pm|am)\b))"
)
AMBIGUOUS_MONTHS = ("may", "march", "mar")
"""Month names that lower-case text also uses as words."""


def _read_iso(match: re.Match[str], _: Saying) -> Period | None:
    on = date(int(match.group("year")), int(match.group("month")), int(match.group("day")))
    if match.group("hour") is None:
        return day_of(on)
    second = match.group("second")
    at = time(int(match.group("hour")), int(match.group("minute")), int(second or 0))
    start = datetime.combine(on, at, UTC) - _offset(match.group("zone"))
    return moment(start, start if second else start + timedelta(seconds=59))


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    return timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])) * (-1 if zone[0] == "-" else 1)


def _read_iso_month(match: re.Match[str], _: Saying) -> Period | None:
    return month_of(int(match.group("year")), int(match.group("month")))


def _read_numbers(match: re.Match[str], saying: Saying) -> Period | None:
    """Read day, month and year, or month, day and year, where only one of the two orders is a date."""
    first, second = int(match.group("first")), int(match.group("second"))
    if match.group("mark") == "." or first > 12 or first == second:
        day, month = first, second
    elif second > 12:
        day, month = second, first
    else:
        return None
    return _on(match, saying, month, day)


def _read_date(match: re.Match[str], saying: Saying) -> Period | None:
    if _is_doubtful(match, saying):
        return None
    return _on(match, saying, words.read_month(match.group("month")), words.read_day(match.group("day")))


def _is_doubtful(match: re.Match[str], saying: Saying) -> bool:
    bare = match.group("year") is None and match.group("day").isdecimal()
    return bare and match.group("month") in AMBIGUOUS_MONTHS and words.names_something(saying.text, match.end())


def _on(match: re.Match[str], saying: Saying, month: int, day: int) -> Period | None:
    return in_year(match, saying, lambda year: day_of(date(year, month, day)))


def _read_month(match: re.Match[str], saying: Saying) -> Period | None:
    month = words.read_month(match.group("month"))
    return in_year(match, saying, lambda year: month_of(year, month))


def _read_year(match: re.Match[str], _: Saying) -> Period | None:
    return year_of(int(match.group("year")))


def _read_season(match: re.Match[str], saying: Saying) -> Period | None:
    name = match.group("season").casefold()
    return in_year(match, saying, lambda year: season_of(year, name))


def _read_decade(match: re.Match[str], _: Saying) -> Period | None:
    word = match.group("decade").casefold().strip("'’")
    year = words.DECADES.get(word) or words.read_full_year(word.rstrip("s").rstrip("'’"))
    return unit_of("decade", date(year, 1, 1))


def _read_day_of_month(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "on the 15th": of the last month that had it by today, or of the next where the sentence looks ahead."""
    if words.names_something(saying.text, match.end()) or saying.is_habit(*match.span("span")):
        return None
    day, today = words.read_day(match.group("day")), saying.today
    ahead = saying.looks_ahead(*match.span("span"))
    for _ in range(3):
        month = unit_of("month", today)
        on = month.first + timedelta(days=day - 1)
        if on <= month.last and (on >= saying.today if ahead else on <= saying.today):
            return day_of(on)
        today = (month.last if ahead else month.first) + timedelta(days=1 if ahead else -1)
    return None


PREPOSITIONS = (
    "in", "since", "until", "till", "by", "before", "after", "during", "around", "about", "early", "mid", "late",
    "late in", "early in", "back to", "forward to", "moved to", "postponed to", "planned for", "scheduled for",
    "set for", "booked for", "end of", "middle of", "beginning of", "start of", "back in", "month of", "of", "through",
)  # fmt: skip
"""What makes a bare month a month."""
RULES: tuple[Rule, ...] = (
    rule(
        DIGITS,
        rf"(?P<year>{FULL_YEAR})(?P<mark>[-/])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)(?!\d){TIME_OF_DAY}",
        _read_iso,
        after=r"(?!-?\d|/\d\d?(?!\d))",
    ),
    rule(DIGITS, rf"(?P<year>{FULL_YEAR})-(?P<month>0[1-9]|1[0-2])", _read_iso_month, after=r"(?!-\w|/\d\d?(?!\d))"),
    rule(
        DIGITS,
        rf"(?P<first>\d\d?)(?P<mark>[-/.])(?P<second>\d\d?)(?P=mark)(?P<year>{FULL_YEAR}|\d\d(?=[^\d/.-]|[.-]\s|[.-]?$))",
        _read_numbers,
        before=r"(?<![\w/.-])",
    ),
    rule(
        DIGITS,
        r"(?P<first>\d\d?)(?P<mark>/)(?P<second>\d\d?)",
        _read_numbers,
        led_by("on", "since", "by", "until", "before", "after", "around", "from"),
        r"(?![/\d%])",
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?:{WEEKDAY},?\s+)?(?:the\s+)?(?P<day>{DAY_NUMBER}|{ORDINAL}(?=\s+of\b))\s*(?:of\s+)?(?P<month>{MONTH}){YEAR_FOLLOWS}",
        _read_date,
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?:{WEEKDAY},?\s+)?(?P<month>{MONTH})\s*(?:the\s+)?(?P<day>{DAY_NUMBER}|{ORDINAL}){YEAR_FOLLOWS}",
        _read_date,
        after=r"(?!\s*[ap]\.?m\b)",
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?P<month>{MONTH})(?:,?\s+(?:of\s+|in\s+)?|[,.])(?P<year>{YEAR})",
        _read_month,
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?P<year>(?:last|this|next)\s+year),?\s+in\s+(?P<month>{MONTH})",
        _read_month,
        after=r"(?!\s+\d)",
    ),
    rule(MONTH_TRIGGERS, rf"(?P<month>{MONTH})", _read_month, led_by(*PREPOSITIONS), r"(?!\s+\d)"),
    rule(
        DIGITS,
        rf"(?P<year>{FULL_YEAR})",
        _read_year,
        rf"(?:{led_by(*PREPOSITIONS, 'from', 'to', 'circa', 'year', 'for', 'between', 'in the year')}|\()",
        rf"(?![-/–:]\d){NOT_A_YEAR}",
    ),
    rule(
        f"{DIGITS} {' '.join(words.DECADES)}",
        rf"(?P<decade>(?:19|20)\d0['’]?s|['’]?[1-9]0['’]?s|{'|'.join(words.DECADES)})",
        _read_decade,
        led_by("the", "the early", "the late", "the mid", "early", "mid", "late"),
    ),
    rule(SEASON_TRIGGERS, rf"(?:the\s+)?(?P<season>{SEASON})(?:,?\s+(?:of\s+|in\s+)?)(?P<year>{YEAR})", _read_season),
    rule(
        SEASON_TRIGGERS,
        rf"the\s+(?P<season>{SEASON})(?:time)?",
        _read_season,
        led_by("in", "during", "over", "since", "until", "by", "before", "this past", "early in", "late in", "for"),
    ),
    rule(
        ORDINAL_TRIGGERS,
        r"the\s+(?P<day>(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th))",
        _read_day_of_month,
        rf"{led_by('on', 'by', 'since', 'until', 'before', 'after', 'from', 'around')}(?:{WEEKDAY},?\s+)?",
        r"(?!-)",
    ),
)
