"""Read dates, ranges whose ends share a month or a year, and times that count from when something is said.

What lacks its year lies where its clause looks, behind or ahead; where the clause does not say it is the nearest, if
that is certain (docs/decisions/0010). A habit has no date. Numbers whose order is uncertain ("5/7/2023") are not read.
Nor are holidays and days whose number is spelled out, which are rare, and decades, which date nothing.

A bare weekday lies where its clause looks, and is none where the clause does not say, or on such a weekday: it may be
today. Who says "last Friday" on a Saturday, or "next Friday" on a Monday, may mean either of two: it is none.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from langgraph_engram.schema import DateOrder, Interval
from langgraph_engram.temporal.datetimes import Period, Unit, Which, choose, days_between, shift, weekday_from, yearly
from langgraph_engram.temporal.patterns import (
    AMOUNT,
    DAY_NUMBER,
    DIGITS,
    FULL_WEEKDAY,
    FULL_YEAR,
    MONTH,
    PART_OF_DAY,
    UNIT,
    UNITS,
    UNTIL,
    WEEKDAY,
    WHICH,
    WHICHES,
    Rules,
    Utterance,
    led_by,
    read_amount,
    read_weekday,
)  # fmt: skip

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
UNIT_RULES = Rules(
    "yesterday today tomorrow tonight morning afternoon evening day days night nights week weeks weekend weekends "
    "month months year years yr yrs"
)
WEEKDAY_RULES = Rules(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
)
NAMED_WEEKDAY = rf"(?P<weekday>{WEEKDAY})"
CLAUSE_ENDS = r"(?=\s*(?:[.,;:!?)\n]|$|at\s+\d|(?:and|but|so|with)\s+(?:I|we|it|my)\b))"
DAYS_AWAY = {
    "the day before yesterday": -2, "yesterday": -1, "last night": -1, "last evening": -1, "today": 0, "tonight": 0,
    "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
UNITS_AWAY = {"last": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1}
WEEKENDS_AWAY = UNITS_AWAY | {"coming": 0, "upcoming": 0}
"""A weekend lies at the end of its week, so that the coming one is this week's."""
MOST_DAYS_SINCE_THIS = 3
"""Days after a weekend in which it is still called "this weekend" in the past tense."""
NOT_HALF = r"(?<![\w-])(?<!\bhalf )"
CLOSED = r"(?!\s+(?:of|that)\b|\s*/)"
"""After a unit: that of something else ("the last week of school") is no calendar unit."""
NOWADAYS = re.compile(
    r"(?i)\b(?:still|even|continu(?:es?|ing)|remain(?:s|ing)?|relevan(?:t|ce)|legacy|world|society|modern|(?:compared|relative)\s+to)\b"
)
"""Words before "today" that make it nowadays."""
LIST_LINE = re.compile(r"\s*(?:[-*+•#|]|\d+[.)])")
IN_A_LIST = re.compile(rf"(?i){FULL_WEEKDAY}(?:,\s*(?:and\s+|or\s+)?|\s+or\s+)$")
"""Another weekday and a comma or "or" before a weekday: it is one of several."""
AND_ANOTHER = re.compile(rf"(?i)(?:,|\s+or)\s+{FULL_WEEKDAY}")
AFTER_NAME = re.compile(r"[a-z,] [A-Z][a-z]+ $")
"""A word with a capital before a weekday: "Black Friday" is a feast."""


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
    return _in_year(match, utterance, lambda year: Period.of_day(date(year, month, day)))


def _order_of(first: int, second: int, mark: str) -> DateOrder | None:
    """Return the order of a date's numbers where only one order is possible; with dots the day is first."""
    if mark == "." or first > len(MONTHS) >= second:
        return "day_first"
    return "month_first" if second > len(MONTHS) >= first else None


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
    month, day = _month_number(match["month"]), _day_number(match["day"])
    period = _in_year(match, utterance, lambda year: Period.of_day(date(year, month, day)))
    weekday = match["weekday"]
    return period if period is None or weekday is None or read_weekday(weekday) == period.first.weekday() else None


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


@UNIT_RULES.reads(
    rf"(?P<phrase>the\s+day\s+(?:before\s+yesterday|after\s+tomorrow)|yesterday|today|tomorrow|tonight|"
    rf"last\s+(?:night|evening)|this\s+(?:morning|afternoon|evening)){PART_OF_DAY}?"
)
def _read_day(match: re.Match[str], utterance: Utterance) -> Period | None:
    phrase = " ".join(match["phrase"].casefold().split())
    is_general = phrase in ("today", "tonight", "tomorrow") and _is_general(match, utterance)
    return None if is_general else Period.of_day(utterance.today + timedelta(days=DAYS_AWAY[phrase]))


def _is_general(match: re.Match[str], utterance: Utterance) -> bool:
    """Return whether "today" means nowadays or any day."""
    if NOWADAYS.search(utterance.before(match)) or _is_template(match, utterance):
        return True
    tense = utterance.tense(match)
    is_done = tense == "behind" if match["phrase"].casefold() == "today" else tense is not None
    return not (is_done or utterance.speaks_of_people(match))


@UNIT_RULES.reads(rf"(?P<which>{WHICH})\s+(?P<unit>week|weekend|month|year)", after=CLOSED)
def _read_which_unit(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "last week" as a calendar week, but "the past week" and "the last month" as so long until now."""
    unit = UNITS[match["unit"].casefold()]
    article, way = (match["which"].casefold().split() * 2)[:2]
    if way != "last" and _is_template(match, utterance):
        return None
    if unit == "weekend" and way == "this":
        return _read_this_weekend(match, utterance)
    if unit == "weekend":
        return Period.of_unit(unit, shift(unit, utterance.today, WEEKENDS_AWAY[way]))
    if way == "past" or (article == "the" and way == "last"):
        return _rolling(utterance, unit, -1)
    return Period.of_unit(unit, shift(unit, utterance.today, UNITS_AWAY[way]))


def _is_template(match: re.Match[str], utterance: Utterance) -> bool:
    """Return whether a time is in a line of a list that speaks of nobody: it may be of any week."""
    line = LIST_LINE.match(utterance.text, utterance.text.rfind("\n", 0, match.start()) + 1, match.start())
    return line is not None and not utterance.speaks_of_people(match)


def _read_this_weekend(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "this weekend": the running one, else the one before up to Wednesday if it is past, else the coming one."""
    this = Period.of_unit("weekend", utterance.today)
    if this.first <= utterance.today or utterance.tense(match) != "behind":
        return this
    before = Period.of_unit("weekend", shift("weekend", utterance.today, -1))
    return before if days_between(before, utterance.today) <= MOST_DAYS_SINCE_THIS else None


@UNIT_RULES.reads(r"the\s+weekend", led_by("over", "at", "for", "during"), r"(?!\s+(?:of|before|after)\b)")
def _read_the_weekend(match: re.Match[str], utterance: Utterance) -> Period | None:
    is_certain = utterance.tense(match) and not utterance.is_habit(match)
    return _read_this_weekend(match, utterance) if is_certain else None


@UNIT_RULES.reads(
    rf"the\s+(?P<way>next|coming)\s+(?P<unit>{UNIT})", led_by("in", "over", "within", "during", "for", "throughout")
)
@UNIT_RULES.reads(
    rf"(?:(?:the|these|this)\s+)?(?P<way>last|past|next|coming)\s+(?P<amount>{AMOUNT})\s+(?P<unit>{UNIT})s?",
    after=CLOSED,
)
def _read_rolling(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "the last two weeks" and "the next month"; "the next day" counts from what was told before."""
    unit, amount = UNITS[match["unit"].casefold()], match.groupdict().get("amount")
    if _is_template(match, utterance) or (unit == "day" and amount is None):
        return None
    ahead = match["way"].casefold() in ("next", "coming")
    return _rolling(utterance, unit, read_amount(amount or "a")[1] * (1 if ahead else -1))


def _rolling(utterance: Utterance, unit: Unit, count: int) -> Period:
    end = shift(unit, utterance.today, count)
    return Period.of_days(min(utterance.today, end), max(utterance.today, end))


@UNIT_RULES.reads(
    rf"(?P<amount>{AMOUNT})[\s-]+(?P<unit>{UNIT})s?\s+(?:ago|back(?!\s+(?:in|to|at|on|from|with|home)\b))", NOT_HALF
)
def _read_ago(match: re.Match[str], utterance: Utterance) -> Period | None:
    least, most = read_amount(match["amount"])
    return Period.away(UNITS[match["unit"].casefold()], utterance.today, -least, -most)


@UNIT_RULES.reads(rf"(?P<amount>{AMOUNT})\s+(?P<unit>{UNIT})s?\s+from\s+(?:now|today)", NOT_HALF)
@UNIT_RULES.reads(
    rf"in\s+(?:about\s+|around\s+|like\s+|another\s+)?(?P<amount>{AMOUNT})\s+(?P<unit>{UNIT})s?(?:['’]?\s+time)?",
    after=r"(?!\s+(?:of|that|or|is|was|from)\b|\s*/)",
)
def _read_in(match: re.Match[str], utterance: Utterance) -> Period | None:
    if utterance.tense(match) != "ahead":
        return None
    return Period.away(UNITS[match["unit"].casefold()], utterance.today, *read_amount(match["amount"]))


@UNIT_RULES.reads(r"the\s+(?P<unit>week|month|year)", led_by("end of", "start of", "beginning of", "middle of"))
def _read_running_unit(match: re.Match[str], utterance: Utterance) -> Period | None:
    return Period.of_unit(UNITS[match["unit"].casefold()], utterance.today)


@WEEKDAY_RULES.reads(rf"(?P<which>{WHICH})\s+{NAMED_WEEKDAY}{PART_OF_DAY}?", after=r"(?!\s+of\b)")
def _read_which_weekday(match: re.Match[str], utterance: Utterance) -> Period | None:
    which, today = match["which"].split()[-1].casefold(), utterance.today
    weekday = read_weekday(match["weekday"])
    if which == "this":
        on = today + timedelta(days=weekday - today.weekday())
        return Period.of_day(on) if on >= today or utterance.tense(match) == "behind" else None
    on = weekday_from(today, weekday, -1 if which in ("last", "past") else 1)
    is_doubtful = (which == "last" and on == today - timedelta(days=1)) or (
        which == "next" and on <= Period.of_unit("week", today).last
    )
    return None if is_doubtful else Period.of_day(on)


@WEEKDAY_RULES.reads(rf"(?P<weekday>{FULL_WEEKDAY})", after=CLAUSE_ENDS)
@WEEKDAY_RULES.reads(
    rf"{NAMED_WEEKDAY}{PART_OF_DAY}?",
    led_by("on", "by", "since", "until", "till", "before", "after", "from", "around", "between"),
    r"(?!,?\s+(?:the\s+)?\d|\s+(?:mornings|afternoons|evenings|nights)\b)",
)
def _read_bare_weekday(match: re.Match[str], utterance: Utterance) -> Period | None:
    tense = utterance.tense(match)
    before = utterance.before(match)
    is_listed = IN_A_LIST.search(before) or AND_ANOTHER.match(utterance.text, match.end("span"))
    weekday = read_weekday(match["weekday"])
    is_another = utterance.is_habit(match) or is_listed or AFTER_NAME.search(before)
    if tense is None or is_another or weekday == utterance.today.weekday():
        return None
    return Period.of_day(weekday_from(utterance.today, weekday, 1 if tense == "ahead" else -1))


@WEEKDAY_RULES.reads(rf"(?:from\s+)?{WEEKDAY}{UNTIL}{WEEKDAY}")
def _read_weekday_range(_: re.Match[str], __: Utterance) -> Period | None:
    """Read no weekday out of "Monday to Friday": it is a habit more often than not."""
    return None


@WEEKDAY_RULES.reads(rf"{NAMED_WEEKDAY}{PART_OF_DAY}?,?\s+(?:of\s+|in\s+)?(?P<week>last|this|next)\s+week")
def _read_weekday_of_week(match: re.Match[str], utterance: Utterance) -> Period | None:
    monday = Period.of_unit("week", utterance.today).first + timedelta(weeks=UNITS_AWAY[match["week"].casefold()])
    return Period.of_day(monday + timedelta(days=read_weekday(match["weekday"])))
