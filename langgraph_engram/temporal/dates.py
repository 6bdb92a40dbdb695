"""Read dates: a day, a month, a season, a year, a decade or a holiday, and ranges whose ends share a month or a year.

What lacks its year lies where its clause looks, behind or ahead; where the clause does not say it is the nearest, if
that is certain (docs/decisions/0010). A habit has no date. Numbers whose order is uncertain ("5/7/2023") are not read.
Holidays are those whose date is fixed or can be computed, as they are kept in the United States; the name alone is no
time ("a Christmas tree"): a preposition, a year, or "last" and its like must go with it. Of 5,071 times in 25,507 texts
of LoCoMo, BEAM and LongMemEval 3,846 are dates.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from dateutil.easter import easter
from dateutil.relativedelta import FR, TH, relativedelta

from langgraph_engram.schema import DateOrder, Interval
from langgraph_engram.temporal.patterns import (
    CENTURY,
    DAY_NUMBER,
    DECADES,
    DIGITS,
    FULL_YEAR,
    MONTH,
    MONTHS,
    ORDINAL,
    ORDINALS,
    PART_OF_DAY,
    SEASON,
    UNTIL,
    WEEKDAY,
    WHICH,
    YEAR,
    Rule,
    Utterance,
    in_year,
    is_part_of_name,
    led_by,
    read_day,
    read_full_year,
    read_month,
    read_weekday,
    rule,
)
from langgraph_engram.temporal.periods import MONTHS_OF_A_YEAR, Period

MONTH_TRIGGERS = (
    "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov "
    "november dec december"
)
SEASON_TRIGGERS = "spring summer autumn fall winter"
ORDINAL_TRIGGERS = f"{DIGITS} {' '.join(ordinal.split('-')[-1] for ordinal in ORDINALS)}"
HOLIDAY_TRIGGERS = (
    "christmas xmas eve nye year halloween valentine valentines independence fourth thanksgiving friday easter"
)
PREPOSITIONS = (
    "in", "since", "until", "till", "by", "before", "after", "during", "around", "about", "early", "mid", "late",
    "late in", "early in", "back to", "forward to", "moved to", "postponed to", "planned for", "scheduled for",
    "set for", "booked for", "end of", "middle of", "beginning of", "start of", "back in", "month of", "of", "through",
)  # fmt: skip
"""Words that make a bare month name a month."""
HOLIDAY_LEAD = led_by(
    "on", "at", "over", "for", "since", "until", "till", "by", "before", "after", "around", "during", "this"
)
YEAR_FOLLOWS = rf"(?:(?:,?\s+|[,.])(?:of\s+|in\s+)?(?P<year>{YEAR}))?"
TIME_OF_DAY = (
    r"(?:(?:T|\s+|\s+\([a-z]{3,9}\)\s+)(?P<time>(?:[01]\d|2[0-3]):[0-5]\d(?P<second>:[0-5]\d)?)(?(second)(?:\.\d+)?)"
    r"\s?(?P<zone>Z(?![a-z])|[+-]\d\d:?\d\d(?!\d))?)?"
)
NOT_A_YEAR = (
    r"(?!,\d|\s*(?:%|°|[$€£]|(?:dollars?|euros?|pounds?|people|steps|miles|km|kilomet\w+|met(?:er|re)s|calories|words|pages|"
    r"points|hours|minutes|days|members|users|followers|square|sq|times|views|copies|units|degrees|rpm|pieces|students|"
    r"employees|bucks|grams|feet|pm|am)\b))"
)
NUMERIC = re.compile(
    rf"(?<![\w/.-])(?P<first>\d\d?)(?P<mark>[-/])(?P<second>\d\d?)(?P=mark)(?:{FULL_YEAR}|\d\d)(?![\w/-])"
)
MONTH_AND_NUMBER = re.compile(r"(?i)[a-z]{3} \d\d")
NTH_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)"
YEARS_NEAR = 2
"""Years from the clock's within which a number after a short month is read as a year."""
SHORT_MONTHS = frozenset(MONTHS) - {"may"}
AMBIGUOUS_MONTHS = ("may", "march", "mar")
"""Month names that lower-case text also uses as words."""
RANGE_YEAR = rf"(?:(?:,?\s+|,)(?:of\s+)?(?P<year>{YEAR}))?"
OPENER = r"(?:from\s+|(?P<between>between\s+))?"
AND = rf"(?(between)\s+and\s+|{UNTIL})"
"""Between the ends of a range that `OPENER` opens."""
SEASON_OF_MONTHS = re.compile(r"(?i)[a-z.]+\s*[-–—]\s*[a-z.]+")
"""Months joined by a dash, "April-May", recur each year."""
THE = r"(?:the\s+)?"
PARTIAL = rf"{THE}(?:{DAY_NUMBER}\s+(?:of\s+)?{MONTH}|{MONTH}(?:\s+{DAY_NUMBER})?)"


def _read_iso(match: re.Match[str], _: Utterance) -> Period | None:
    on = date(int(match.group("year")), int(match.group("month")), int(match.group("day")))
    if match.group("time") is None:
        return Period.of_day(on)
    zone = (match.group("zone") or "Z").upper()
    start = datetime.fromisoformat(f"{on}T{match.group('time')}{zone}").astimezone(UTC)
    return Period(Interval(start=start, end=start if match.group("second") else start + timedelta(seconds=59)), "time")


def _read_iso_month(match: re.Match[str], _: Utterance) -> Period | None:
    return Period.of_month(int(match.group("year")), int(match.group("month")))


def _read_numbers(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read day, month and year, or month, day and year, where it is certain which of the two orders it is."""
    first, second = int(match.group("first")), int(match.group("second"))
    order = _order_of(first, second, match.group("mark")) or _order_in(utterance.text) or utterance.date_order
    if order is None and first != second:
        return None
    day, month = (second, first) if order == "month_first" else (first, second)
    return _on(match, utterance, month, day)


def _order_of(first: int, second: int, mark: str) -> DateOrder | None:
    """Return the order of a date's numbers where only one order is possible; with dots the day is first."""
    if mark == "." or first > MONTHS_OF_A_YEAR >= second:
        return "day_first"
    return "month_first" if second > MONTHS_OF_A_YEAR >= first else None


def _order_in(text: str) -> DateOrder | None:
    """Return the order that the unambiguous dates of a text share; None where they differ or there is none."""
    orders = {_order_of(int(match["first"]), int(match["second"]), "/") for match in NUMERIC.finditer(text)} - {None}
    return orders.pop() if len(orders) == 1 else None


def _read_date(match: re.Match[str], utterance: Utterance) -> Period | None:
    if _is_doubtful(match, utterance):
        return None
    period = _on(match, utterance, read_month(match.group("month")), read_day(match.group("day")))
    weekday = match.group("weekday")
    return period if period is None or weekday is None or read_weekday(weekday) == period.first.weekday() else None


def _is_doubtful(match: re.Match[str], utterance: Utterance) -> bool:
    """Return whether "may 5" is perhaps no date, or "Mar 22" a month of 2022."""
    if match.group("year") or not match.group("day").isdecimal():
        return False
    if match.group("month") in AMBIGUOUS_MONTHS:
        return is_part_of_name(utterance.text, match.end())
    is_year = abs(int(match.group("day")) - utterance.today.year % CENTURY) <= YEARS_NEAR
    return is_year and MONTH_AND_NUMBER.fullmatch(match.group("span")) is not None


def _on(match: re.Match[str], utterance: Utterance, month: int, day: int) -> Period | None:
    return in_year(match, utterance, lambda year: Period.of_day(date(year, month, day)))


def _read_month(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read a month; without a year and a tense it recurs each year, and without a capital "jan" is a name."""
    if match.group("month") in (AMBIGUOUS_MONTHS if "which" in match.groupdict() else SHORT_MONTHS):
        return None
    month = read_month(match.group("month"))
    return in_year(match, utterance, lambda year: Period.of_month(year, month), needs_tense=True)


def _read_year(match: re.Match[str], _: Utterance) -> Period | None:
    return Period.of_year(int(match.group("year")))


def _read_season(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read a season; without a year and a tense it recurs each year."""
    name = match.group("season").casefold()
    return in_year(match, utterance, lambda year: Period.of_season(year, name), needs_tense=True)


def _read_decade(match: re.Match[str], _: Utterance) -> Period | None:
    word = match.group("decade").casefold().strip("'’")
    year = 1920 + 10 * DECADES.index(word) if word in DECADES else read_full_year(word.rstrip("s").rstrip("'’"))
    return Period.of_unit("decade", date(year, 1, 1))


def _read_day_of_month(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "on the 15th": of the last month that had it by today, or of the next where the sentence looks ahead.

    "From the 13th to the 20th" may be under way, or of either month: it is none.
    """
    if match.group("last"):
        return None
    tense = utterance.tense(match)
    if tense is None or is_part_of_name(utterance.text, match.end()) or utterance.is_habit(match):
        return None
    day, today, ahead = read_day(match.group("day")), utterance.today, tense == "ahead"
    for _ in range(3):
        month = Period.of_unit("month", today)
        on = month.first + timedelta(days=day - 1)
        if on <= month.last and (on >= utterance.today if ahead else on <= utterance.today):
            return Period.of_day(on)
        today = (month.last if ahead else month.first) + timedelta(days=1 if ahead else -1)
    return None


def _read_days(match: re.Match[str], utterance: Utterance) -> Period | None:
    month = read_month(match.group("month"))
    first, last = read_day(match.group("first")), read_day(match.group("last"))
    return in_year(match, utterance, lambda year: Period.of_days(date(year, month, first), date(year, month, last)))


def _read_months(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read a range from one month or day to another; a first end later in the year is a year earlier.

    Without a year and a tense it recurs each year: "the peak season (June to August)".
    """
    first, last = match.group("first"), match.group("last")
    if match.group("year") is None and SEASON_OF_MONTHS.fullmatch(match.group("span")):
        return None
    return in_year(match, utterance, lambda year: _between(first, last, year), needs_tense=True)


def _between(first: str, last: str, year: int) -> Period:
    start, end = _partial(first, year), _partial(last, year)
    return (start if start.first <= end.first else _partial(first, year - 1)).join(end)


def _partial(text: str, year: int) -> Period:
    month = re.search(MONTH, text, re.IGNORECASE)
    day = re.search(r"\d+", text)
    assert month, "the pattern holds a month"
    number = read_month(month.group())
    return Period.of_day(date(year, number, int(day.group()))) if day else Period.of_month(year, number)


def _read_years(match: re.Match[str], _: Utterance) -> Period | None:
    first, last = int(match.group("first")), match.group("year")
    end = read_full_year(last) if len(last) > 2 else first - first % 100 + int(last)
    return Period.of_year(first).join(Period.of_year(end)) if first < end else None


HOLIDAYS: dict[str, Callable[[int], date]] = {
    r"christmas\s+eve": lambda year: date(year, 12, 24),
    r"(?:christmas|xmas)(?:\s+day)?": lambda year: date(year, 12, 25),
    r"new\s+year['’]?s\s+eve|nye": lambda year: date(year, 12, 31),
    r"new\s+year['’]?s(?:\s+day)?": lambda year: date(year, 1, 1),
    r"halloween": lambda year: date(year, 10, 31),
    r"(?:saint\s+|st\.?\s+)?valentine['’]?s(?:\s+day)?": lambda year: date(year, 2, 14),
    r"independence\s+day|(?:the\s+)?fourth\s+of\s+july": lambda year: date(year, 7, 4),
    r"thanksgiving(?:\s+day)?": lambda year: date(year, 11, 1) + relativedelta(weekday=TH(4)),
    r"black\s+friday": lambda year: date(year, 11, 2) + relativedelta(weekday=FR(4)),
    r"easter(?:\s+sunday)?": easter,
}
"""Patterns of names, the more specific first, and the day in a year."""
HOLIDAY = rf"(?:the\s+)?(?P<name>{'|'.join(HOLIDAYS)}){PART_OF_DAY}?"
HOLIDAY_YEAR = rf"(?:,?\s+|,)(?:of\s+|in\s+)?(?P<year>{YEAR})"


def _read_holiday(match: re.Match[str], utterance: Utterance) -> Period | None:
    if not match.groupdict().get("year") and is_part_of_name(utterance.text, match.end()):
        return None
    day_in = next(day for name, day in HOLIDAYS.items() if re.fullmatch(name, match.group("name"), re.IGNORECASE))
    return in_year(match, utterance, lambda year: Period.of_day(day_in(year)), needs_tense=True)


DATE_RULES: tuple[Rule, ...] = (
    rule(
        DIGITS,
        rf"(?P<year>{FULL_YEAR})(?P<mark>[-/])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)(?!\d){TIME_OF_DAY}",
        _read_iso,
        after=r"(?!-?\d|/\d\d?(?!\d))",
    ),
    rule(DIGITS, rf"(?P<year>{FULL_YEAR})-(?P<month>0[1-9]|1[0-2])", _read_iso_month, after=r"(?!-\w|/\d\d?(?!\d))"),
    rule(
        DIGITS,
        rf"(?P<first>\d\d?)(?P<mark>[-/.])(?P<second>\d\d?)(?P=mark)(?P<year>{FULL_YEAR}|(?<!-)\d\d(?=[^\d/.-]|[.-]\s|[.-]?$))",
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
        rf"(?:(?P<weekday>{WEEKDAY}),?\s+)?(?:the\s+)?(?P<day>{DAY_NUMBER}|{ORDINAL}(?=\s+of\b))\s*(?:of\s+)?(?P<month>{MONTH}){YEAR_FOLLOWS}",
        _read_date,
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?:(?P<weekday>{WEEKDAY}),?\s+)?(?P<month>{MONTH})\s*(?:the\s+)?(?P<day>{DAY_NUMBER}|{ORDINAL}){YEAR_FOLLOWS}",
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
    rule(MONTH_TRIGGERS, rf"(?P<which>{WHICH})\s+(?P<month>{MONTH})", _read_month, after=r"(?!,?\s+(?:the\s+)?\d)"),
    rule(
        DIGITS,
        rf"(?P<year>{FULL_YEAR})",
        _read_year,
        rf"(?:{led_by(*PREPOSITIONS, 'from', 'to', 'circa', 'year', 'for', 'between', 'in the year')}|\()",
        rf"(?![-/–:]\d){NOT_A_YEAR}",
    ),
    rule(
        f"{DIGITS} {' '.join(DECADES)}",
        rf"(?P<decade>(?:19|20)\d0['’]?s|['’]?[1-9]0['’]?s|{'|'.join(DECADES)})",
        _read_decade,
        led_by("the", "the early", "the late", "the mid", "early", "mid", "late"),
    ),
    rule(SEASON_TRIGGERS, rf"(?:the\s+)?(?P<season>{SEASON})(?:,?\s+(?:of\s+|in\s+)?)(?P<year>{YEAR})", _read_season),
    rule(
        SEASON_TRIGGERS,
        rf"the\s+(?P<season>{SEASON})(?:time)?",
        _read_season,
        led_by("over", "since", "until", "by", "before", "this past", "for"),
    ),
    rule(SEASON_TRIGGERS, rf"(?P<which>{WHICH})\s+(?P<season>{SEASON})", _read_season, after=r"(?!\s+(?:of|\d))"),
    rule(
        ORDINAL_TRIGGERS,
        rf"the\s+(?P<day>{NTH_DAY})(?:{UNTIL}(?:{WEEKDAY},?\s+)?(?:the\s+)?(?P<last>{NTH_DAY}))?",
        _read_day_of_month,
        rf"{led_by('on', 'by', 'since', 'until', 'before', 'after', 'from', 'around')}(?:{WEEKDAY},?\s+)?",
        r"(?!-|(?:st|nd|rd|th)|\s+(?:and|or|to)\s+\d)",
    ),
)
RANGE_RULES: tuple[Rule, ...] = (
    rule(
        MONTH_TRIGGERS,
        rf"{OPENER}{THE}(?P<first>{DAY_NUMBER}){AND}{THE}(?P<last>{DAY_NUMBER})\s+(?:of\s+)?(?P<month>{MONTH}){RANGE_YEAR}",
        _read_days,
    ),
    rule(
        MONTH_TRIGGERS,
        rf"(?:from\s+)?(?P<month>{MONTH})\s+(?P<first>{DAY_NUMBER}){UNTIL}{THE}(?P<last>{DAY_NUMBER}){RANGE_YEAR}",
        _read_days,
    ),
    rule(
        MONTH_TRIGGERS,
        rf"{OPENER}(?P<first>{PARTIAL}){AND}(?P<last>{PARTIAL}){RANGE_YEAR}",
        _read_months,
    ),
    rule(
        DIGITS,
        rf"{OPENER}(?P<first>{FULL_YEAR}){AND}(?P<year>{FULL_YEAR}|\d\d(?![\d/:-]))",
        _read_years,
        r"(?<![\w/-])",
        r"(?![-/:]\d)",
    ),
)
HOLIDAY_RULES: tuple[Rule, ...] = (
    rule(HOLIDAY_TRIGGERS, rf"{HOLIDAY}{HOLIDAY_YEAR}", _read_holiday),
    rule(HOLIDAY_TRIGGERS, rf"(?P<which>{WHICH})\s+{HOLIDAY}", _read_holiday),
    rule(HOLIDAY_TRIGGERS, rf"{HOLIDAY}", _read_holiday, HOLIDAY_LEAD),
)
RULES: tuple[Rule, ...] = (*DATE_RULES, *RANGE_RULES, *HOLIDAY_RULES)
