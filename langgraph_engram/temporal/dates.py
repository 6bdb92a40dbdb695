"""Read dates: a day, a month, a season or a year, and ranges whose ends share a month or a year.

What lacks its year lies where its clause looks, behind or ahead; where the clause does not say it is the nearest, if
that is certain (docs/decisions/0010). A habit has no date. Numbers whose order is uncertain ("5/7/2023") are not read.
Nor are holidays and days whose number is spelled out, which are rare, and decades, which date nothing.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from langgraph_engram.schema import DateOrder, Interval
from langgraph_engram.temporal.datetimes import MONTHS_OF_A_YEAR, Period, Which, choose, days_between, shift, yearly
from langgraph_engram.temporal.patterns import (
    DAY_NUMBER,
    DIGITS,
    FULL_YEAR,
    MONTH,
    UNTIL,
    WEEKDAY,
    WHICH,
    WHICHES,
    Rules,
    Utterance,
    led_by,
    read_weekday,
)

CENTURY = 100
PIVOT = 50
"""Two-digit years below it belong to this century, the others to the last."""
MOST_DAYS_WITHOUT_YEAR = 305
"""A date without its year that would lie more than ten months away is something else."""
MOST_DAYS_WITHOUT_TENSE = 120
"""Days to the nearest occurrence that is meant where no word shows the tense: the others are twice as far."""
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
YEAR = rf"(?:{FULL_YEAR}(?!-\d)|['’]\d\d(?!\d)|(?:last|this|next)\s+year)"
SEASON = r"(?:spring|summer|autumn|fall|winter)"
NUMBER_RULES = Rules(DIGITS)
MONTH_RULES = Rules(
    "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov "
    "november dec december"
)
SEASON_RULES = Rules("spring summer autumn fall winter")
PREPOSITIONS = (
    "in", "since", "until", "till", "by", "before", "after", "during", "around", "about", "early", "mid", "late",
    "late in", "early in", "back to", "forward to", "moved to", "postponed to", "planned for", "scheduled for",
    "set for", "booked for", "end of", "middle of", "beginning of", "start of", "back in", "month of", "of", "through",
)  # fmt: skip
"""Words that make a bare month name a month."""
YEAR_FOLLOWS = rf"(?:(?:,?\s+|[,.])(?:of\s+|in\s+)?(?P<year>{YEAR}))?"
TIME_OF_DAY = (
    r"(?:(?:T|\s+|\s+\([a-z]{3,9}\)\s+)(?P<time>(?:[01]\d|2[0-3]):[0-5]\d(?P<second>:[0-5]\d)?)(?(second)(?:\.\d+)?)"
    r"\s?(?P<zone>Z(?![a-z])|[+-]\d\d:?\d\d(?!\d))?)?"
)
NOT_A_YEAR = r"(?!,\d|\s*(?:%|°|[$€£]|(?:(?!onwards)[a-z]{4,}s|people|feet|square|sq|km|rpm|pm|am)\b))"
SHORT_MONTHS = frozenset(MONTHS) - {"may"}
AMBIGUOUS_MONTHS = ("may", "march", "mar")
"""Month names that lower-case text also uses as words."""
RANGE_YEAR = rf"(?:(?:,?\s+|,)(?:of\s+)?(?P<year>{YEAR}))?"
OPENER = r"(?:from\s+|(?P<between>between\s+))?"
AND = rf"(?(between)\s+and\s+|{UNTIL})"
"""Between the ends of a range that `OPENER` opens."""
THE = r"(?:the\s+)?"
PARTIAL = rf"{THE}(?:{DAY_NUMBER}\s+(?:of\s+)?{MONTH}|{MONTH}(?:\s+{DAY_NUMBER})?)"


@NUMBER_RULES.reads(
    rf"(?P<year>{FULL_YEAR})(?P<mark>[-/])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)(?!\d){TIME_OF_DAY}",
    after=r"(?!-?\d|/\d\d?(?!\d))",
)
def _read_iso(match: re.Match[str], _: Utterance) -> Period | None:
    on = date(int(match["year"]), int(match["month"]), int(match["day"]))
    if match["time"] is None:
        return Period.of_day(on)
    zone = (match["zone"] or "Z").upper()
    start = datetime.fromisoformat(f"{on}T{match.group('time')}{zone}").astimezone(UTC)
    return Period(Interval(start=start, end=start if match["second"] else start + timedelta(seconds=59)), "time")


@NUMBER_RULES.reads(rf"(?P<year>{FULL_YEAR})-(?P<month>0[1-9]|1[0-2])", after=r"(?!-\w|/\d\d?(?!\d))")
def _read_iso_month(match: re.Match[str], _: Utterance) -> Period | None:
    return Period.of_unit("month", date(int(match["year"]), int(match["month"]), 1))


@NUMBER_RULES.reads(
    r"(?P<first>\d\d?)(?P<mark>/)(?P<second>\d\d?)",
    led_by("on", "since", "by", "until", "before", "after", "around", "from"),
    r"(?![/\d%])",
)
@NUMBER_RULES.reads(
    rf"(?P<first>\d\d?)(?P<mark>[-/.])(?P<second>\d\d?)(?P=mark)(?P<year>{FULL_YEAR}|(?<!-)\d\d(?=[^\d/.-]|[.-]\s|[.-]?$))",
    before=r"(?<![\w/.-])",
)
def _read_numbers(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read day, month and year, or month, day and year, where it is certain which of the two orders it is."""
    first, second = int(match["first"]), int(match["second"])
    order = _order_of(first, second, match["mark"]) or utterance.date_order
    if order is None and first != second:
        return None
    day, month = (second, first) if order == "month_first" else (first, second)
    return _on(match, utterance, month, day)


def _order_of(first: int, second: int, mark: str) -> DateOrder | None:
    """Return the order of a date's numbers where only one order is possible; with dots the day is first."""
    if mark == "." or first > MONTHS_OF_A_YEAR >= second:
        return "day_first"
    return "month_first" if second > MONTHS_OF_A_YEAR >= first else None


@MONTH_RULES.reads(
    rf"(?:(?P<weekday>{WEEKDAY}),?\s+)?(?P<month>{MONTH})\s*(?:the\s+)?(?P<day>{DAY_NUMBER}){YEAR_FOLLOWS}",
    after=r"(?!\s*[ap]\.?m\b)",
)
@MONTH_RULES.reads(
    rf"(?:(?P<weekday>{WEEKDAY}),?\s+)?(?:the\s+)?(?P<day>{DAY_NUMBER})\s*(?:of\s+)?(?P<month>{MONTH}){YEAR_FOLLOWS}"
)
def _read_date(match: re.Match[str], utterance: Utterance) -> Period | None:
    if match["month"] in AMBIGUOUS_MONTHS and match["day"].isdecimal() and not match["year"]:
        return None
    period = _on(match, utterance, _month_number(match["month"]), _day_number(match["day"]))
    weekday = match["weekday"]
    return period if period is None or weekday is None or read_weekday(weekday) == period.first.weekday() else None


def _on(match: re.Match[str], utterance: Utterance, month: int, day: int) -> Period | None:
    return _in_year(match, utterance, lambda year: Period.of_day(date(year, month, day)))


@MONTH_RULES.reads(rf"(?P<which>{WHICH})\s+(?P<month>{MONTH})", after=r"(?!,?\s+(?:the\s+)?\d)")
@MONTH_RULES.reads(rf"(?P<month>{MONTH})", led_by(*PREPOSITIONS), r"(?!\s+\d)")
@MONTH_RULES.reads(rf"(?P<month>{MONTH})(?:,?\s+(?:of\s+|in\s+)?|[,.])(?P<year>{YEAR})")
def _read_month(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read a month; without a year and a tense it recurs each year, and without a capital "jan" is a name."""
    if match["month"] in (AMBIGUOUS_MONTHS if "which" in match.groupdict() else SHORT_MONTHS):
        return None
    month = _month_number(match["month"])
    return _in_year(match, utterance, lambda year: Period.of_unit("month", date(year, month, 1)), needs_tense=True)


@NUMBER_RULES.reads(
    rf"(?P<year>{FULL_YEAR})",
    rf"(?:{led_by(*PREPOSITIONS, 'from', 'to', 'circa', 'year', 'for', 'between', 'in the year')}|\()",
    rf"(?![-/–:]\d){NOT_A_YEAR}",
)
def _read_year(match: re.Match[str], _: Utterance) -> Period | None:
    return Period.of_unit("year", date(int(match["year"]), 1, 1))


@SEASON_RULES.reads(rf"(?P<which>{WHICH})\s+(?P<season>{SEASON})", after=r"(?!\s+(?:of|\d))")
@SEASON_RULES.reads(
    rf"the\s+(?P<season>{SEASON})(?:time)?", led_by("over", "since", "until", "by", "before", "this past", "for")
)
@SEASON_RULES.reads(rf"(?:the\s+)?(?P<season>{SEASON})(?:,?\s+(?:of\s+|in\s+)?)(?P<year>{YEAR})")
def _read_season(match: re.Match[str], utterance: Utterance) -> Period | None:
    name = match["season"].casefold()
    return _in_year(match, utterance, lambda year: Period.of_season(year, name), needs_tense=True)


@NUMBER_RULES.reads(
    r"the\s+(?P<day>(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th))",
    led_by("on", "by", "since", "until", "before", "after", "around"),
    r"(?!-|\s+(?:and|or|to)\s|\s+(?!after|before|at|in|with|and|so|but|we|i)[a-z])",
)
def _read_day_of_month(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "on the 15th": of the last month that had it by today, or of the next where the sentence looks ahead."""
    tense = utterance.tense(match)
    if tense is None or utterance.is_habit(match):
        return None
    day, today = _day_number(match["day"]), utterance.today
    months = (shift("month", today.replace(day=1), step) for step in range(-2, 3))
    days = [Period.of_day(first.replace(day=day)) for first in months if day <= Period.of_unit("month", first).last.day]
    return choose("coming" if tense == "ahead" else "recent", days, today)


@MONTH_RULES.reads(
    rf"(?:from\s+)?(?P<month>{MONTH})\s+(?P<first>{DAY_NUMBER}){UNTIL}{THE}(?P<last>{DAY_NUMBER}){RANGE_YEAR}"
)
@MONTH_RULES.reads(
    rf"{OPENER}{THE}(?P<first>{DAY_NUMBER}){AND}{THE}(?P<last>{DAY_NUMBER})\s+(?:of\s+)?(?P<month>{MONTH}){RANGE_YEAR}"
)
def _read_days(match: re.Match[str], utterance: Utterance) -> Period | None:
    month, first, last = _month_number(match["month"]), _day_number(match["first"]), _day_number(match["last"])
    return _in_year(match, utterance, lambda year: Period.of_days(date(year, month, first), date(year, month, last)))


@MONTH_RULES.reads(rf"{OPENER}(?P<first>{PARTIAL}){AND}(?P<last>{PARTIAL}){RANGE_YEAR}")
def _read_months(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read a range of months or days; without a year it needs a tense. Months in brackets are those of any year."""
    if "(" in utterance.before(match).rpartition(")")[2] and not re.search(r"\d", match["span"]):
        return None

    def between(year: int) -> Period:
        start, end = _partial(match["first"], year), _partial(match["last"], year)
        return (start if start.first <= end.first else _partial(match["first"], year - 1)).join(end)

    return _in_year(match, utterance, between, needs_tense=True)


def _partial(text: str, year: int) -> Period:
    month, day = re.search(MONTH, text, re.IGNORECASE), re.search(r"\d+", text)
    assert month, "the pattern holds a month"
    on = date(year, _month_number(month.group()), int(day.group()) if day else 1)
    return Period.of_unit("day" if day else "month", on)


def _month_number(word: str) -> int:
    return MONTHS.index(word[:3].casefold()) + 1


def _day_number(word: str) -> int:
    return int(word.casefold().rstrip("stndrh"))


def _full_year(word: str) -> int:
    digits = int(word.lstrip("'’"))
    return digits if digits >= CENTURY else digits + (20 if digits < PIVOT else 19) * CENTURY


def _in_year(
    match: re.Match[str], utterance: Utterance, make: Callable[[int], Period], *, needs_tense: bool = False
) -> Period | None:
    """Make a period in the year that a match names or the sentence suggests; None where that is uncertain."""
    year, which = match.groupdict().get("year"), match.groupdict().get("which")
    if year and year[-1].isdigit():
        return make(_full_year(year))
    if year:
        return make(utterance.today.year + {"last": -1, "this": 0, "next": 1}[year.split()[0].casefold()])
    occurrences = list(yearly(make, utterance.today))
    if which:
        return choose(WHICHES[which.split()[-1].casefold()], occurrences, utterance.today)
    tense, is_certain = utterance.tenses(match)
    if utterance.is_habit(match) or (needs_tense and not tense):
        return None
    meant: Which = "nearest" if tense is None else "coming" if tense == "ahead" else "recent"
    period = choose(meant, occurrences, utterance.today)
    farthest = MOST_DAYS_WITHOUT_YEAR if is_certain else MOST_DAYS_WITHOUT_TENSE
    return period if period and days_between(period, utterance.today) <= farthest else None
