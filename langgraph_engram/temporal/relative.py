"""Read times that count from when something is said: yesterday, last week, three years ago, in two weeks, on Friday.

A bare weekday lies where its clause looks, is none where the clause does not say, and is never today but in "it is
Friday": who means today says so. Who says "last Friday" on a Saturday, or "next Friday" on a Monday, may mean either of
two: it is none (docs/decisions/0031). This module does not know dates with a number or a month's name in them but "last
June" and "next March".
"""

import re
from datetime import date, timedelta

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
    days_between,
    moment,
    month_of,
    season_of,
    shift,
    span,
    unit_of,
    weekday_from,
    yearly,
)
from langgraph_engram.temporal.tense import Tense, sentence_after

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
UNITS_AWAY = {"last": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1}
WEEKENDS_AWAY = UNITS_AWAY | {"coming": 0, "upcoming": 0}
"""A weekend lies at the end of its week, so that the coming one is this week's."""
MOST_DAYS_SINCE_THIS = 3
"""How long after a weekend it is still called this one, by somebody who speaks of what was."""
CLOSED = r"(?!\s+(?:of|that)\b|\s*/)"
"""A unit of something else ("the last week of school") is none of the calendar's."""
OTHERS: dict[Unit, tuple[int, int]] = {"day": (-2, -10), "week": (-1, -3)}
"""How far away, at the least and the most, is "the other day" and "the other week"."""
AN_AGE = re.compile(
    r"['’]s\s+(?:(?:modern|digital|fast-paced|busy|\w+ing)\s+)?"
    r"(?:world|society|age|era|day\s+and\s+age|economy|youth|generation|culture|standards|times)\b",
    re.IGNORECASE,
)
NOWADAYS = re.compile(
    r"\b(?:still|even|continu(?:es?|ing)|remain(?:s|ing)?|relevan(?:t|ce)|legacy|world|society|modern|(?:compared|relative)\s+to)\b",
    re.IGNORECASE,
)
"""Before "today" these words make it nowadays."""
BEING = re.compile(r"\b(?:is|are|was|were)\s+$", re.IGNORECASE)
PERFECT = re.compile(r"\b(?:has|have)\b", re.IGNORECASE)
LIKE = re.compile(r"\blike\s+(?:it\s+was\s+)?(?:just\s+|only\s+)?$", re.IGNORECASE)
"""Before "yesterday": it was long ago."""
SUPPOSED = re.compile(
    r"\b(?:(?:if|suppos(?:e|ing)|assum(?:e|ing)|given)\s+(?:that\s+)?$|(?:suppose|probability|likelihood|scenario)\b)",
    re.IGNORECASE,
)
"""Before a day these words make it any day."""
NAMED_AFTER = re.compile(r"\s+(?:show|programme|program)\b", re.IGNORECASE)
NAMED_BEFORE = re.compile(r"(?:\bthe|\b(?!I\b)(?-i:[A-Z])[\w&.]*[^\W_])\s+$")
DURATION = re.compile(
    r"\b(?:not|never|ever|first|best|worst|most|only|longest|biggest|once|twice|times?|"
    r"(?:do|does|did|have|has|had|is|are|was|were|ca|could|wo|would)n['’]?t)\b",
    re.IGNORECASE,
)
"""Before "in three weeks" these words make it a duration, as the past tense does."""
LIST_LINE = re.compile(r"^\s*(?:[-*+•#|]|\d+[.)])")
"""How a line of a list, a heading or a table starts."""


def _read_day(match: re.Match[str], saying: Saying) -> Period | None:
    phrase = " ".join(match.group("phrase").casefold().split())
    if phrase == "yesterday" and LIKE.search(saying.before(match.start("span"))):
        return None
    if phrase in ("today", "tonight", "tomorrow") and _is_general(match, saying):
        return None
    phrase = phrase if phrase in DAYS_AWAY else f"the {phrase}"
    return day_of(saying.today + timedelta(days=DAYS_AWAY[phrase]))


def _is_general(match: re.Match[str], saying: Saying) -> bool:
    """Return whether "today" means nowadays or any day, or belongs to a name ("USA Today", "the Today show")."""
    start, end = match.span("span")
    before = saying.before(start)
    if AN_AGE.match(saying.text, end) or NOWADAYS.search(before) or SUPPOSED.search(before):
        return True
    if _is_template(match, saying) or not (saying.speaks_of_people(start, end) or _has_verb(match, saying, before)):
        return True
    named = NAMED_AFTER.match(saying.text, match.end("span")) or NAMED_BEFORE.search(saying.before(match.start("span")))
    return match.group("phrase").istitle() and named is not None


def _has_verb(match: re.Match[str], saying: Saying, before: str) -> bool:
    """Return whether something is, was or will be on a day, though nobody is named: "Today was fun"."""
    start, end = match.span("span")
    end += len("'s") if saying.text[end : end + 2] in ("'s", "’s") else 0
    tense = saying.tense(start, end)
    if match.group("phrase").casefold() != "today" or BEING.search(before):
        return tense is not None
    return tense == "behind" and not PERFECT.search(before + sentence_after(saying.text, end))


def _read_the_other(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "the other day": a vague one, not yesterday."""
    unit, _ = read_unit(match.group("unit") or "day")
    return away(unit, saying.today, *OTHERS[unit])


def _read_which_unit(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "last week" as a calendar week, but "the past week" and "the last month" as so long until now."""
    unit, size = read_unit(match.group("unit"))
    article, way = (match.group("which").casefold().split() * 2)[:2]
    if way != "last" and _is_template(match, saying):
        return None
    if unit == "weekend" and way == "this":
        return _read_this_weekend(match, saying)
    if unit == "weekend":
        return unit_of(unit, shift(unit, saying.today, WEEKENDS_AWAY[way]))
    if way == "past" or (article == "the" and way == "last"):
        return _rolling(saying, False, unit, size)
    return unit_of(unit, shift(unit, saying.today, size * UNITS_AWAY[way]))


def _is_template(match: re.Match[str], saying: Saying) -> bool:
    """Return whether a time stands in a line of a list that speaks of nobody: it may be of any week."""
    line = saying.text[saying.text.rfind("\n", 0, match.start()) + 1 : match.start()]
    return LIST_LINE.match(line) is not None and not saying.speaks_of_people(*match.span("span"))


def _read_this_weekend(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "this weekend": the running one, else the one before up to Wednesday if it is past, else the coming one."""
    this = unit_of("weekend", saying.today)
    if this.first <= saying.today or saying.tense(*match.span("span")) != "behind":
        return this
    before = unit_of("weekend", shift("weekend", saying.today, -1))
    return before if days_between(before, saying.today) <= MOST_DAYS_SINCE_THIS else None


def _read_rolling(match: re.Match[str], saying: Saying) -> Period | None:
    if _is_template(match, saying):
        return None
    ahead = match.group("way").casefold() in ("next", "coming")
    unit, size = read_unit(match.group("unit"))
    return _rolling(saying, ahead, unit, read_amount(match.group("amount"))[1] * size)


def _read_the_next_unit(match: re.Match[str], saying: Saying) -> Period | None:
    unit, size = read_unit(match.group("unit"))
    return None if unit == "day" or _is_template(match, saying) else _rolling(saying, True, unit, size)


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
    if DURATION.search(saying.before(match.start())) or not saying.looks_ahead(*match.span("span")):
        return None
    unit, size = read_unit(match.group("unit"))
    least, most = read_amount(match.group("amount"))
    return away(unit, saying.today, least * size, most * size)


def _read_before_last(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "the week before last" and "the weekend after next"."""
    unit, size = read_unit(match.group("unit"))
    return unit_of(unit, shift(unit, saying.today, 2 * size * (1 if match.group("way").casefold() == "next" else -1)))


def _read_which_month(match: re.Match[str], saying: Saying) -> Period | None:
    if match.group("month") in ("may", "mar", "march"):
        return None
    month = read_month(match.group("month"))
    made = yearly(lambda year: month_of(year, month), saying.today)
    return choose(read_which(match.group("which")), made, saying.today)


def _read_which_season(match: re.Match[str], saying: Saying) -> Period | None:
    name = match.group("season").casefold()
    made = yearly(lambda year: season_of(year, name), saying.today)
    return choose(read_which(match.group("which")), made, saying.today)


def _read_the_weekend(match: re.Match[str], saying: Saying) -> Period | None:
    tense = saying.tense(*match.span("span"))
    if tense is None or saying.is_habit(*match.span("span")):
        return None
    this = unit_of("weekend", saying.today)
    if tense == "ahead" or this.first <= saying.today:
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
        "last past this next coming upcoming",
        rf"(?P<which>{WHICH})\s+(?P<unit>week|weekend|fortnight|month|year|decade)",
        _read_which_unit,
        after=CLOSED,
    ),
    rule(
        "last past next coming",
        rf"(?:(?:the|these|this)\s+)?(?P<way>last|past|next|coming)\s+{AMOUNT_GROUP}\s+{UNITS}",
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
        rf"in\s+(?:about\s+|around\s+|like\s+|another\s+)?{AMOUNT_GROUP}\s+{UNITS}(?:['’]?\s+time)?",
        _read_in,
        after=r"(?!\s+(?:of|that|or|is|was)\b|\s*/)",
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
        led_by("over", "at", "for", "during"),
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
NAMED_DAY = re.compile(
    r"\b(?:black|good|ash|cyber|super|ruby|bloody|happy|palm|throwback|my|your|our|his|her|their)\s+$",
    re.IGNORECASE,
)
"""Words that make a weekday the name of something else."""
IN_A_LIST = re.compile(rf"{FULL_WEEKDAY}(?:,\s*(?:and\s+|or\s+)?|\s+or\s+)$", re.IGNORECASE)
"""Before a weekday another one and a comma or "or" make it one of those on which something is or may be done."""
AND_ANOTHER = re.compile(rf"(?:,|\s+or)\s+{FULL_WEEKDAY}", re.IGNORECASE)
LABEL_ENDS = re.compile(r"[*_]*\s*(?:[:(|]|[-–—]\s|$)")
SAYS_TODAY = re.compile(r"\b(?:it|today)(?:['’]?s|\s+is)\s+(?:a\s+)?$", re.IGNORECASE)


def _read_which_weekday(match: re.Match[str], saying: Saying) -> Period | None:
    which, weekday, today = (
        match.group("which").split()[-1].casefold(),
        read_weekday(match.group("weekday")),
        saying.today,
    )
    if which in ("last", "past"):
        on = weekday_from(today, weekday, -1)
        return None if which == "last" and on == today - timedelta(days=1) else day_of(on)
    if which in ("next", "coming", "upcoming"):
        on = weekday_from(today, weekday, 1)
        return None if which == "next" and on <= unit_of("week", today).last else day_of(on)
    return _this_weekday(today, weekday, saying.tense(*match.span("span")))


def _this_weekday(today: date, weekday: int, tense: Tense | None) -> Period | None:
    """Return the weekday of this week, or the next one where it is over and the clause looks ahead."""
    on = today + timedelta(days=weekday - today.weekday())
    if on >= today or tense == "behind":
        return day_of(on)
    return day_of(weekday_from(today, weekday, 1)) if tense == "ahead" else None


def _read_bare_weekday(match: re.Match[str], saying: Saying) -> Period | None:
    start, end = match.span("span")
    before = saying.before(start)
    named = NAMED_DAY.search(before) or names_something(saying.text, match.end())
    if named or IN_A_LIST.search(before) or AND_ANOTHER.match(saying.text, end) or _is_label(saying.text, start, end):
        return None
    weekday = read_weekday(match.group("weekday"))
    if weekday == saying.today.weekday() and SAYS_TODAY.search(saying.before(match.start("span"))):
        return day_of(saying.today)
    tense = saying.tense(start, end)
    if tense is None or saying.is_habit(start, end):
        return None
    return day_of(weekday_from(saying.today, weekday, 1 if tense == "ahead" else -1))


def _is_label(text: str, start: int, end: int) -> bool:
    """Return whether a weekday opens a line of a schedule: "- **Monday:** a run", "Tuesday (Day 2)"."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return not any(letter.isalpha() for letter in line) and LABEL_ENDS.match(text, end) is not None


def _read_weekday_range(match: re.Match[str], saying: Saying) -> Period | None:
    """Read "from Monday to Friday"; without "from" it is a habit."""
    if not match.group("opener") or saying.is_habit(*match.span("span")):
        return None
    first, last = read_weekday(match.group("first")), read_weekday(match.group("last"))
    if saying.is_move(match):
        return day_of(weekday_from(saying.today, last, 1))
    tense = saying.tense(*match.span("span"))
    if tense is None:
        return None
    if tense == "ahead":
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
