"""Read weekdays, which count from when something is said: on Friday, last Tuesday, two Fridays ago.

A bare weekday lies where its clause looks, is none where the clause does not say, and is never today but in "it is
Friday": who means today says so. Who says "last Friday" on a Saturday, or "next Friday" on a Monday, may mean either of
two: it is none (docs/decisions/0031).
"""

import re
from datetime import date, timedelta

from langgraph_engram.temporal.patterns import (
    AMOUNT,
    FULL_WEEKDAY,
    PART_OF_DAY,
    UNTIL,
    WEEKDAY,
    WHICH,
    Rule,
    Utterance,
    is_part_of_name,
    led_by,
    read_amount,
    read_weekday,
    rule,
)
from langgraph_engram.temporal.periods import Period, day_of, span, unit_of, weekday_from
from langgraph_engram.temporal.tense import Tense

DAY_TRIGGERS = "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
DAYS_TRIGGERS = "mondays tuesdays wednesdays thursdays fridays saturdays sundays"
NAMED_WEEKDAY = rf"(?P<weekday>{WEEKDAY})"
WEEKS = {"last": -1, "this": 0, "next": 1}
CLAUSE_ENDS = r"(?=\s*(?:[.,;:!?)\n]|$|at\s+\d|(?:and|but|so|with)\s+(?:I|we|it|my)\b))"
NAMED_DAY = re.compile(
    r"\b(?:black|good|ash|cyber|super|ruby|bloody|happy|palm|throwback|my|your|our|his|her|their)\s+$",
    re.IGNORECASE,
)
"""Words before a weekday that make it the name of something else."""
IN_A_LIST = re.compile(rf"{FULL_WEEKDAY}(?:,\s*(?:and\s+|or\s+)?|\s+or\s+)$", re.IGNORECASE)
"""Another weekday and a comma or "or" before a weekday: it is one of several."""
AND_ANOTHER = re.compile(rf"(?:,|\s+or)\s+{FULL_WEEKDAY}", re.IGNORECASE)
LABEL_ENDS = re.compile(r"[*_]*\s*(?:[:(|]|[-–—]\s|$)")
SAYS_TODAY = re.compile(r"\b(?:it|today)(?:['’]?s|\s+is)\s+(?:a\s+)?$", re.IGNORECASE)


def _read_which_weekday(match: re.Match[str], utterance: Utterance) -> Period | None:
    which, today = match.group("which").split()[-1].casefold(), utterance.today
    weekday = read_weekday(match.group("weekday"))
    if which in ("last", "past"):
        on = weekday_from(today, weekday, -1)
        return None if which == "last" and on == today - timedelta(days=1) else day_of(on)
    if which in ("next", "coming", "upcoming"):
        on = weekday_from(today, weekday, 1)
        return None if which == "next" and on <= unit_of("week", today).last else day_of(on)
    return _this_weekday(today, weekday, utterance.tense(*match.span("span")))


def _this_weekday(today: date, weekday: int, tense: Tense | None) -> Period | None:
    """Return the weekday of this week, or the next one where it is over and the clause looks ahead."""
    on = today + timedelta(days=weekday - today.weekday())
    if on >= today or tense == "behind":
        return day_of(on)
    return day_of(weekday_from(today, weekday, 1)) if tense == "ahead" else None


def _read_bare_weekday(match: re.Match[str], utterance: Utterance) -> Period | None:
    start, end = match.span("span")
    text, today, before = utterance.text, utterance.today, utterance.before(start)
    if NAMED_DAY.search(before) or is_part_of_name(text, match.end()) or _is_label(text, start, end):
        return None
    if IN_A_LIST.search(before) or AND_ANOTHER.match(text, end):
        return None
    weekday = read_weekday(match.group("weekday"))
    if weekday == today.weekday() and SAYS_TODAY.search(before):
        return day_of(today)
    tense = utterance.tense(start, end)
    if tense is None or utterance.is_habit(start, end):
        return None
    return day_of(weekday_from(today, weekday, 1 if tense == "ahead" else -1))


def _is_label(text: str, start: int, end: int) -> bool:
    """Return whether a weekday opens a line of a schedule: "- **Monday:** a run", "Tuesday (Day 2)"."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return not any(letter.isalpha() for letter in line) and LABEL_ENDS.match(text, end) is not None


def _read_weekday_range(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "from Monday to Friday"; without "from" it is a habit."""
    if not match.group("opener") or utterance.is_habit(*match.span("span")):
        return None
    first, last = read_weekday(match.group("first")), read_weekday(match.group("last"))
    if utterance.is_move(match):
        return day_of(weekday_from(utterance.today, last, 1))
    tense = utterance.tense(*match.span("span"))
    if tense is None:
        return None
    if tense == "ahead":
        start = weekday_from(utterance.today, first, 1)
        return span(start, weekday_from(start, last, 1))
    end = weekday_from(utterance.today, last, -1)
    return span(weekday_from(end, first, -1), end)


def _read_weekday_of_week(match: re.Match[str], utterance: Utterance) -> Period | None:
    week = match.group("week") or match.group("week_before")
    monday = unit_of("week", utterance.today).first + timedelta(weeks=WEEKS[week.casefold()])
    weekday = match.group("weekday") or match.group("weekday_after")
    return day_of(monday + timedelta(days=read_weekday(weekday)))


def _read_weekday_ago(match: re.Match[str], utterance: Utterance) -> Period | None:
    nearest = weekday_from(utterance.today, read_weekday(match.group("weekday")), -1)
    return day_of(nearest - timedelta(weeks=read_amount(match.group("amount"))[0] - 1))


def _read_weekday_before_last(match: re.Match[str], utterance: Utterance) -> Period | None:
    nearest = weekday_from(utterance.today, read_weekday(match.group("weekday")), -1)
    return day_of(nearest - timedelta(weeks=1))


RULES: tuple[Rule, ...] = (
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
