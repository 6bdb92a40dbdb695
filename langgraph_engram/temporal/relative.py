"""Read times that count from when something is said: yesterday, last week, three years ago, in two weeks, on Friday.

A bare weekday lies in the past unless its clause looks ahead, and is never today but in "it is Friday": who means today
says so. This module does not know dates with a number or a month's name in them but "last June" and "next March".
"""

import re
from datetime import date, timedelta
from typing import Literal

from langgraph_engram.temporal.dates import MONTH_TRIGGERS, SEASON_TRIGGERS
from langgraph_engram.temporal.patterns import (
    AMOUNT,
    FULL_WEEKDAY,
    MONTH,
    PART_OF_DAY,
    SEASON,
    UNIT,
    UNTIL,
    WEEKDAY,
    WHICH,
    Rule,
    Saying,
    led_by,
    names_something,
    read_amount,
    read_month,
    read_unit,
    read_weekday,
    read_which,
    rule,
)
from langgraph_engram.temporal.periods import (
    MONTHS_OF_A_YEAR,
    Period,
    Unit,
    away,
    choose,
    day_of,
    moment,
    month_of,
    season_of,
    shift,
    span,
    unit_of,
    weekday_from,
    yearly,
)

DAYS_AWAY = {
    "the day before yesterday": -2,
    "the night before last": -2,
    "the day after tomorrow": 2,
    "yesterday": -1,
    "last night": -1,
    "last evening": -1,
    "tomorrow": 1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
}
UNITS_AWAY = {"last": -1, "previous": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1}
WEEKENDS_AWAY = UNITS_AWAY | {"coming": 0, "upcoming": 0}
"""A weekend lies at the end of its week, so that the coming one is this week's."""
CLOSED = r"(?!\s+(?:of|that)\b)"
"""A unit of something else ("the last week of school") is none of the calendar's."""
OTHERS: dict[Unit, tuple[int, int]] = {"day": (-2, -10), "week": (-1, -3)}
"""How far away, at the least and the most, is "the other day" and "the other week"."""
AN_AGE = re.compile(
    r"['’]s\s+(?:(?:modern|digital|fast-paced|busy|\w+ing)\s+)?"
    r"(?:world|society|age|era|day\s+and\s+age|economy|youth|generation|culture|standards|times)\b",
    re.IGNORECASE,
)
NAMED_AFTER = re.compile(r"\s+(?:show|programme|program)\b", re.IGNORECASE)
NAMED_BEFORE = re.compile(r"(?:\bthe|\b(?!I\b)(?-i:[A-Z])[\w&.]*[^\W_])\s+$")
DURATION = re.compile(
    r"\b(?:not|never|ever|first|best|worst|most|only|longest|biggest|once|twice|times?)\b|n['’]t\b", re.IGNORECASE
)
"""Before "in three weeks" these words make it a duration, as the past tense does."""


def _read_day(match: re.Match[str], saying: Saying) -> Period | None:
    phrase = " ".join(match.group("phrase").casefold().split())
    if phrase in ("today", "tonight") and _is_title(match, saying):
        return None
    phrase = phrase if phrase in DAYS_AWAY else f"the {phrase}"
    return day_of(saying.today + timedelta(days=DAYS_AWAY[phrase]))


def _is_title(match: re.Match[str], saying: Saying) -> bool:
    """Tell whether "Today" belongs to a name ("USA Today", "the Today show") or to an age ("today's world")."""
    if AN_AGE.match(saying.text, match.end("span")):
        return True
    named = NAMED_AFTER.match(saying.text, match.end("span")) or NAMED_BEFORE.search(saying.before(match.start("span")))
    return match.group("phrase").istitle() and named is not None


def _read_the_other(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "the other day": a vague one, not yesterday."""
    unit, _ = read_unit(match.group("unit") or "day")
    return away(unit, saying.today, *OTHERS[unit])


def _read_which_unit(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "last week" as a calendar week, but "the past week" and "the last month" as so long until now."""
    unit, size = read_unit(match.group("unit"))
    article, way = (match.group("which").casefold().split() * 2)[:2]
    if unit == "weekend":
        return unit_of(unit, shift(unit, saying.today, WEEKENDS_AWAY[way]))
    if way == "past" or (article == "the" and way == "last"):
        return _rolling(saying, False, unit, size)
    return unit_of(unit, shift(unit, saying.today, size * UNITS_AWAY[way]))


def _read_rolling(match: re.Match[str], saying: Saying) -> Period | None:
    unit, size = read_unit(match.group("unit"))
    most = read_amount(match.group("amount"))[1] * size
    return _rolling(saying, match.group("way").casefold() in ("next", "coming"), unit, most)


def _read_the_next_unit(match: re.Match[str], saying: Saying) -> Period | None:
    unit, size = read_unit(match.group("unit"))
    return _rolling(saying, True, unit, size)


def _rolling(saying: Saying, ahead: bool, unit: Unit, most: int) -> Period:
    other = shift(unit, saying.today, most if ahead else -most)
    return span(min(saying.today, other), max(saying.today, other))


def _read_ago(match: re.Match[str], saying: Saying) -> Period | None:
    unit, size = read_unit(match.group("unit"))
    least, most = read_amount(match.group("amount"))
    return away(unit, saying.today, -least * size, -most * size)


def _read_hours_ago(match: re.Match[str], saying: Saying) -> Period | None:
    least, most = read_amount(match.group("amount"))
    seconds = 3600 if match.group("unit").casefold().startswith("h") else 60
    return moment(saying.clock - timedelta(seconds=most * seconds), saying.clock - timedelta(seconds=least * seconds))


def _read_half_hour_ago(_: re.Match[str], saying: Saying) -> Period | None:
    at = saying.clock - timedelta(minutes=30)
    return moment(at, at)


def _read_half_years_ago(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "a year and a half ago" as the months around that."""
    amount = match.group("amount") or match.group("amount_before") or ""
    months = MONTHS_OF_A_YEAR * (read_amount(amount)[0] if amount else 0) + MONTHS_OF_A_YEAR // 2
    return away("month", saying.today, 1 - months, -1 - months)


def _read_in(match: re.Match[str], saying: Saying) -> Period | None:
    if DURATION.search(saying.before(match.start())) or saying.tense(*match.span("span")) == "behind":
        return None
    unit, size = read_unit(match.group("unit"))
    least, most = read_amount(match.group("amount"))
    return away(unit, saying.today, least * size, most * size)


def _read_before_last(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "the week before last" and "the weekend after next"."""
    unit, size = read_unit(match.group("unit"))
    return unit_of(unit, shift(unit, saying.today, 2 * size * (1 if match.group("way").casefold() == "next" else -1)))


def _read_which_month(match: re.Match[str], saying: Saying) -> Period | None:
    month = read_month(match.group("month"))
    made = yearly(lambda year: month_of(year, month), saying.today)
    return choose(read_which(match.group("which")), made, saying.today)


def _read_which_season(match: re.Match[str], saying: Saying) -> Period | None:
    name = match.group("season").casefold()
    made = yearly(lambda year: season_of(year, name), saying.today)
    return choose(read_which(match.group("which")), made, saying.today)


def _read_the_weekend(match: re.Match[str], saying: Saying) -> Period | None:
    if saying.is_habit(*match.span("span")):
        return None
    this = unit_of("weekend", saying.today)
    if saying.looks_ahead(*match.span("span")) or this.first <= saying.today:
        return this
    return unit_of("weekend", shift("weekend", saying.today, -1))


def _read_running_unit(match: re.Match[str], saying: Saying) -> Period | None:
    return unit_of(read_unit(match.group("unit"))[0], saying.today)


AMOUNT_GROUP = rf"(?P<amount>{AMOUNT})"
UNITS = rf"(?P<unit>{UNIT})s?"
COUNTED_RULES: tuple[Rule, ...] = (
    rule(
        "yesterday today tomorrow tonight last this",
        rf"(?:the\s+)?(?P<phrase>(?:day|night)\s+(?:before\s+yesterday|after\s+tomorrow|before\s+last)|yesterday|today|tomorrow|"
        rf"tonight|last\s+(?:night|evening)|this\s+(?:morning|afternoon|evening)){PART_OF_DAY}?",
        _read_day,
    ),
    rule(
        "other",
        r"(?:just\s+)?the\s+other\s+(?P<unit>day|night|week)|the\s+other\s+(?:morning|afternoon|evening)",
        _read_the_other,
        r"(?<![\w-])(?<!\bon )",
        CLOSED,
    ),
    rule(
        "last past this next coming upcoming previous",
        rf"(?P<which>{WHICH})\s+(?P<unit>week|weekend|fortnight|month|year|decade)",
        _read_which_unit,
        after=CLOSED,
    ),
    rule(
        "last past next previous coming",
        rf"(?:(?:the|these|this)\s+)?(?P<way>last|past|next|previous|coming)\s+{AMOUNT_GROUP}\s+{UNITS}",
        _read_rolling,
        after=CLOSED,
    ),
    rule(
        "next coming",
        rf"the\s+(?:next|coming)\s+(?P<unit>{UNIT})",
        _read_the_next_unit,
        led_by("in", "over", "within", "during", "for", "throughout"),
    ),
    rule("ago back", rf"{AMOUNT_GROUP}[\s-]+{UNITS}\s+(?:ago|back(?!\s+(?:in|to|at|on|from|with|home)\b))", _read_ago),
    rule("ago", rf"{AMOUNT_GROUP}\s+(?P<unit>hour|hr|minute|min)s?\s+ago", _read_hours_ago),
    rule("half", r"half\s+an\s+hour\s+ago", _read_half_hour_ago),
    rule(
        "half",
        rf"(?:{AMOUNT_GROUP}\s+and\s+a\s+half\s+years|(?P<amount_before>an?|one)\s+year\s+and\s+a\s+half|half\s+a\s+year)\s+ago",
        _read_half_years_ago,
    ),
    rule(
        "in",
        rf"in\s+(?:about\s+|around\s+|just\s+|like\s+|another\s+)?{AMOUNT_GROUP}\s+{UNITS}(?:['’]?\s+time)?",
        _read_in,
        after=CLOSED,
    ),
    rule("from", rf"{AMOUNT_GROUP}\s+{UNITS}\s+from\s+(?:now|today)", _read_in),
    rule(
        "before after",
        rf"(?:the\s+)?(?P<unit>{UNIT})\s+(?:before|after)\s+(?P<way>last|next)",
        _read_before_last,
        after=CLOSED,
    ),
    rule(
        MONTH_TRIGGERS, rf"(?P<which>{WHICH})\s+(?P<month>{MONTH})", _read_which_month, after=r"(?!,?\s+(?:the\s+)?\d)"
    ),
    rule(SEASON_TRIGGERS, rf"(?P<which>{WHICH})\s+(?P<season>{SEASON})", _read_which_season, after=r"(?!\s+(?:of|\d))"),
    rule(
        "weekend",
        r"the\s+weekend",
        _read_the_weekend,
        led_by("over", "at", "on", "for", "during"),
        r"(?!\s+(?:of|before|after)\b)",
    ),
    rule(
        "week month year",
        r"the\s+(?P<unit>week|month|year)",
        _read_running_unit,
        led_by("end of", "start of", "beginning of", "middle of"),
    ),
)


DAY_TRIGGERS = "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
DAYS_TRIGGERS = "mondays tuesdays wednesdays thursdays fridays saturdays sundays"
WEEKS = {"last": -1, "this": 0, "next": 1}
CLAUSE_ENDS = r"(?=\s*(?:[.,;:!?)\n]|$|at\s+\d|(?:and|but|so|with)\s+(?:I|we|it|my)\b))"
NAMES = frozenset(["black", "good", "ash", "cyber", "super", "ruby", "bloody", "happy", "palm"])
"""Words that make a weekday the name of something else."""
SAYS_TODAY = re.compile(r"\b(?:it|today)(?:['’]?s|\s+is)\s+(?:a\s+)?$", re.IGNORECASE)


def _read_which_weekday(match: re.Match[str], saying: Saying) -> Period | None:
    which, weekday, today = (
        match.group("which").split()[-1].casefold(),
        read_weekday(match.group("weekday")),
        saying.today,
    )
    if which in ("last", "past", "previous"):
        return day_of(weekday_from(today, weekday, -1))
    if which in ("next", "coming", "upcoming"):
        return day_of(weekday_from(today, weekday, 1))
    return day_of(_this_weekday(today, weekday, saying.looks_ahead(*match.span("span"))))


def _this_weekday(today: date, weekday: int, ahead: bool) -> date:
    on = today + timedelta(days=weekday - today.weekday())
    return weekday_from(today, weekday, 1) if ahead and on < today else on


def _read_bare_weekday(match: re.Match[str], saying: Saying) -> Period | None:
    before = saying.text[max(0, match.start("span") - 12) : match.start("span")].casefold().split()
    if (before and before[-1] in NAMES) or names_something(saying.text, match.end()):
        return None
    weekday = read_weekday(match.group("weekday"))
    if weekday == saying.today.weekday() and SAYS_TODAY.search(saying.before(match.start("span"))):
        return day_of(saying.today)
    if saying.is_habit(*match.span("span")):
        return None
    direction: Literal[-1, 1] = 1 if saying.looks_ahead(*match.span("span")) else -1
    return day_of(weekday_from(saying.today, weekday, direction))


def _read_weekday_range(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "from Monday to Friday"; without "from" it is a habit."""
    if not match.group("opener") or saying.is_habit(*match.span("span")):
        return None
    first, last = read_weekday(match.group("first")), read_weekday(match.group("last"))
    if saying.is_move(match):
        return day_of(weekday_from(saying.today, last, 1))
    if saying.looks_ahead(*match.span("span")):
        start = weekday_from(saying.today, first, 1)
        return span(start, weekday_from(start, last, 1))
    end = weekday_from(saying.today, last, -1)
    return span(weekday_from(end, first, -1), end)


def _read_weekday_of_week(match: re.Match[str], saying: Saying) -> Period | None:
    week = match.group("week") or match.group("week_before")
    monday = unit_of("week", saying.today).first + timedelta(weeks=WEEKS[week.casefold()])
    weekday = match.group("weekday") or match.group("weekday_after")
    return day_of(monday + timedelta(days=read_weekday(weekday)))


def _read_weekday_ago(match: re.Match[str], saying: Saying) -> Period | None:
    nearest = weekday_from(saying.today, read_weekday(match.group("weekday")), -1)
    return day_of(nearest - timedelta(weeks=read_amount(match.group("amount"))[0] - 1))


def _read_weekday_before_last(match: re.Match[str], saying: Saying) -> Period | None:
    nearest = weekday_from(saying.today, read_weekday(match.group("weekday")), -1)
    return day_of(nearest - timedelta(weeks=1))


NAMED_WEEKDAY = rf"(?P<weekday>{WEEKDAY})"
WEEKDAY_RULES: tuple[Rule, ...] = (
    rule(
        DAY_TRIGGERS,
        rf"(?P<which>{WHICH})\s+{NAMED_WEEKDAY}{PART_OF_DAY}?",
        _read_which_weekday,
        after=r"(?!\s+of\b)",
    ),
    rule(
        DAY_TRIGGERS,
        rf"{NAMED_WEEKDAY}{PART_OF_DAY}?",
        _read_bare_weekday,
        led_by("on", "by", "since", "until", "till", "before", "after", "from", "around", "between"),
        r"(?!,?\s+(?:the\s+)?\d)",
    ),
    rule(
        DAY_TRIGGERS,
        rf"(?P<opener>from\s+)?(?P<first>{WEEKDAY}){UNTIL}(?P<last>{WEEKDAY})",
        _read_weekday_range,
    ),
    rule(DAY_TRIGGERS, rf"(?P<weekday>{FULL_WEEKDAY}){PART_OF_DAY}", _read_bare_weekday),
    rule(DAY_TRIGGERS, rf"(?P<weekday>{FULL_WEEKDAY})", _read_bare_weekday, after=CLAUSE_ENDS),
    rule(
        DAY_TRIGGERS,
        rf"{NAMED_WEEKDAY}{PART_OF_DAY}?,?\s+(?:of\s+|in\s+)?(?P<week>last|this|next)\s+week|"
        rf"(?P<week_before>last|this|next)\s+week,?\s+(?:on\s+)?(?P<weekday_after>{WEEKDAY}){PART_OF_DAY}?",
        _read_weekday_of_week,
    ),
    rule(
        DAYS_TRIGGERS,
        rf"(?P<amount>{AMOUNT})\s+(?P<weekday>{'|'.join(DAYS_TRIGGERS.split())})\s+ago",
        _read_weekday_ago,
    ),
    rule(DAY_TRIGGERS, rf"(?:the\s+)?{NAMED_WEEKDAY}\s+before\s+last", _read_weekday_before_last),
)

RULES: tuple[Rule, ...] = (*COUNTED_RULES, *WEEKDAY_RULES)
