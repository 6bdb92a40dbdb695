"""Read times that count from when something is said: yesterday, last week, three years ago, in two weeks, last June."""

import re
from datetime import timedelta

from langgraph_engram.temporal.dates import MONTH_TRIGGERS, SEASON_TRIGGERS
from langgraph_engram.temporal.patterns import (
    AMOUNT,
    MONTH,
    PART_OF_DAY,
    SEASON,
    UNIT,
    WHICH,
    Rule,
    Utterance,
    led_by,
    read_amount,
    read_month,
    read_unit,
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
    yearly,
)
from langgraph_engram.temporal.tense import sentence_after

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
"""Days after a weekend in which it is still called "this weekend" in the past tense."""
OTHER_UNIT_AWAY: dict[Unit, tuple[int, int]] = {"day": (-2, -10), "week": (-1, -3)}
"""The least and the greatest distance of "the other day" and "the other week"."""
CLOSED = r"(?!\s+(?:of|that)\b|\s*/)"
"""After a unit: that of something else ("the last week of school") is no calendar unit."""
AN_AGE = re.compile(
    r"['’]s\s+(?:(?:modern|digital|fast-paced|busy|\w+ing)\s+)?"
    r"(?:world|society|age|era|day\s+and\s+age|economy|youth|generation|culture|standards|times)\b",
    re.IGNORECASE,
)
NOWADAYS = re.compile(
    r"\b(?:still|even|continu(?:es?|ing)|remain(?:s|ing)?|relevan(?:t|ce)|legacy|world|society|modern|(?:compared|relative)\s+to)\b",
    re.IGNORECASE,
)
"""Words before "today" that make it nowadays."""
BEING = re.compile(r"\b(?:is|are|was|were)\s+$", re.IGNORECASE)
PERFECT = re.compile(r"\b(?:has|have)\b", re.IGNORECASE)
LIKE = re.compile(r"\blike\s+(?:it\s+was\s+)?(?:just\s+|only\s+)?$", re.IGNORECASE)
"""Before "yesterday": something long ago."""
SUPPOSED = re.compile(
    r"\b(?:(?:if|suppos(?:e|ing)|assum(?:e|ing)|given)\s+(?:that\s+)?$|(?:suppose|probability|likelihood|scenario)\b)",
    re.IGNORECASE,
)
"""Words before a day that make it any day."""
NAMED_AFTER = re.compile(r"\s+(?:show|programme|program)\b", re.IGNORECASE)
NAMED_BEFORE = re.compile(r"(?:\bthe|\b(?!I\b)(?-i:[A-Z])[\w&.]*[^\W_])\s+$")
DURATION = re.compile(
    r"\b(?:not|never|ever|first|best|worst|most|only|longest|biggest|once|twice|times?|"
    r"(?:do|does|did|have|has|had|is|are|was|were|ca|could|wo|would)n['’]?t)\b",
    re.IGNORECASE,
)
"""Words before "in three weeks" that make it a duration, as the past tense does."""
LIST_LINE = re.compile(r"^\s*(?:[-*+•#|]|\d+[.)])")
"""The start of a line of a list, a heading or a table."""
AMOUNT_GROUP = rf"(?P<amount>{AMOUNT})"
UNITS = rf"(?P<unit>{UNIT})s?"


def _read_day(match: re.Match[str], utterance: Utterance) -> Period | None:
    phrase = " ".join(match.group("phrase").casefold().split())
    if phrase == "yesterday" and LIKE.search(utterance.before(match.start("span"))):
        return None
    if phrase in ("today", "tonight", "tomorrow") and _is_general(match, utterance):
        return None
    phrase = phrase if phrase in DAYS_AWAY else f"the {phrase}"
    return day_of(utterance.today + timedelta(days=DAYS_AWAY[phrase]))


def _is_general(match: re.Match[str], utterance: Utterance) -> bool:
    """Return whether "today" means nowadays or any day, or belongs to a name ("USA Today", "the Today show")."""
    start, end = match.span("span")
    before = utterance.before(start)
    if AN_AGE.match(utterance.text, end) or NOWADAYS.search(before) or SUPPOSED.search(before):
        return True
    if _is_template(match, utterance) or not (
        utterance.speaks_of_people(start, end) or _has_verb(match, utterance, before)
    ):
        return True
    named = NAMED_AFTER.match(utterance.text, match.end("span")) or NAMED_BEFORE.search(
        utterance.before(match.start("span"))
    )
    return match.group("phrase").istitle() and named is not None


def _has_verb(match: re.Match[str], utterance: Utterance, before: str) -> bool:
    """Return whether something is, was or will be on a day, though nobody is named: "Today was fun"."""
    start, end = match.span("span")
    end += len("'s") if utterance.text[end : end + 2] in ("'s", "’s") else 0
    tense = utterance.tense(start, end)
    if match.group("phrase").casefold() != "today" or BEING.search(before):
        return tense is not None
    return tense == "behind" and not PERFECT.search(before + sentence_after(utterance.text, end))


def _read_the_other(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "the other day": a vague one, not yesterday."""
    unit, _ = read_unit(match.group("unit") or "day")
    return away(unit, utterance.today, *OTHER_UNIT_AWAY[unit])


def _read_which_unit(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "last week" as a calendar week, but "the past week" and "the last month" as so long until now."""
    unit, size = read_unit(match.group("unit"))
    article, way = (match.group("which").casefold().split() * 2)[:2]
    if way != "last" and _is_template(match, utterance):
        return None
    if unit == "weekend" and way == "this":
        return _read_this_weekend(match, utterance)
    if unit == "weekend":
        return unit_of(unit, shift(unit, utterance.today, WEEKENDS_AWAY[way]))
    if way == "past" or (article == "the" and way == "last"):
        return _rolling(utterance, False, unit, size)
    return unit_of(unit, shift(unit, utterance.today, size * UNITS_AWAY[way]))


def _is_template(match: re.Match[str], utterance: Utterance) -> bool:
    """Return whether a time is in a line of a list that speaks of nobody: it may be of any week."""
    line = utterance.text[utterance.text.rfind("\n", 0, match.start()) + 1 : match.start()]
    return LIST_LINE.match(line) is not None and not utterance.speaks_of_people(*match.span("span"))


def _read_this_weekend(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "this weekend": the running one, else the one before up to Wednesday if it is past, else the coming one."""
    this = unit_of("weekend", utterance.today)
    if this.first <= utterance.today or utterance.tense(*match.span("span")) != "behind":
        return this
    before = unit_of("weekend", shift("weekend", utterance.today, -1))
    return before if days_between(before, utterance.today) <= MOST_DAYS_SINCE_THIS else None


def _read_rolling(match: re.Match[str], utterance: Utterance) -> Period | None:
    if _is_template(match, utterance):
        return None
    ahead = match.group("way").casefold() in ("next", "coming")
    unit, size = read_unit(match.group("unit"))
    return _rolling(utterance, ahead, unit, read_amount(match.group("amount"))[1] * size)


def _read_the_next_unit(match: re.Match[str], utterance: Utterance) -> Period | None:
    unit, size = read_unit(match.group("unit"))
    return None if unit == "day" or _is_template(match, utterance) else _rolling(utterance, True, unit, size)


def _rolling(utterance: Utterance, ahead: bool, unit: Unit, most: int) -> Period:
    end = shift(unit, utterance.today, most if ahead else -most)
    return span(min(utterance.today, end), max(utterance.today, end))


def _read_ago(match: re.Match[str], utterance: Utterance) -> Period | None:
    unit, size = read_unit(match.group("unit"))
    least, most = read_amount(match.group("amount"))
    return away(unit, utterance.today, -least * size, -most * size)


def _read_hours_ago(match: re.Match[str], utterance: Utterance) -> Period | None:
    least, most = read_amount(match.group("amount"))
    seconds = 3600 if match.group("unit").casefold().startswith("h") else 60
    return moment(
        utterance.clock - timedelta(seconds=most * seconds), utterance.clock - timedelta(seconds=least * seconds)
    )


def _read_half_hour_ago(_: re.Match[str], utterance: Utterance) -> Period | None:
    at = utterance.clock - timedelta(minutes=30)
    return moment(at, at)


def _read_half_years_ago(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "a year and a half ago" as the months around that."""
    amount = match.group("amount") or match.group("amount_before") or ""
    months = MONTHS_OF_A_YEAR * (read_amount(amount)[0] if amount else 0) + MONTHS_OF_A_YEAR // 2
    return away("month", utterance.today, 1 - months, -1 - months)


def _read_in(match: re.Match[str], utterance: Utterance) -> Period | None:
    if DURATION.search(utterance.before(match.start())) or not utterance.looks_ahead(*match.span("span")):
        return None
    unit, size = read_unit(match.group("unit"))
    least, most = read_amount(match.group("amount"))
    return away(unit, utterance.today, least * size, most * size)


def _read_before_last(match: re.Match[str], utterance: Utterance) -> Period | None:
    """Read "the week before last" and "the weekend after next"."""
    unit, size = read_unit(match.group("unit"))
    return unit_of(
        unit, shift(unit, utterance.today, 2 * size * (1 if match.group("way").casefold() == "next" else -1))
    )


def _read_which_month(match: re.Match[str], utterance: Utterance) -> Period | None:
    if match.group("month") in ("may", "mar", "march"):
        return None
    month = read_month(match.group("month"))
    made = yearly(lambda year: month_of(year, month), utterance.today)
    return choose(read_which(match.group("which")), made, utterance.today)


def _read_which_season(match: re.Match[str], utterance: Utterance) -> Period | None:
    name = match.group("season").casefold()
    made = yearly(lambda year: season_of(year, name), utterance.today)
    return choose(read_which(match.group("which")), made, utterance.today)


def _read_the_weekend(match: re.Match[str], utterance: Utterance) -> Period | None:
    tense = utterance.tense(*match.span("span"))
    if tense is None or utterance.is_habit(*match.span("span")):
        return None
    this = unit_of("weekend", utterance.today)
    if tense == "ahead" or this.first <= utterance.today:
        return this
    return unit_of("weekend", shift("weekend", utterance.today, -1))


def _read_running_unit(match: re.Match[str], utterance: Utterance) -> Period | None:
    return unit_of(read_unit(match.group("unit"))[0], utterance.today)


RULES: tuple[Rule, ...] = (
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
