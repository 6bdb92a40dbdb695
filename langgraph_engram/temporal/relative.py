"""Read times that count from when something is said: yesterday, last week, three years ago, in two weeks, on Friday.

A bare weekday lies where its clause looks, and is none where the clause does not say, or on such a weekday: it may be
today. Who says "last Friday" on a Saturday, or "next Friday" on a Monday, may mean either of two: it is none
(docs/decisions/0010). Of 5,071 times in 25,507 texts of LoCoMo, BEAM and LongMemEval 1,225 are relative, 124 of them
weekdays, and mean nothing in a record without their date.
"""

import re
from datetime import timedelta

from langgraph_engram.temporal.datetimes import Period, Unit, days_between, shift, weekday_from
from langgraph_engram.temporal.patterns import (
    AMOUNT,
    FULL_WEEKDAY,
    PART_OF_DAY,
    UNIT,
    UNITS,
    UNTIL,
    WEEKDAY,
    WHICH,
    Rules,
    Utterance,
    led_by,
    read_amount,
    read_weekday,
)  # fmt: skip

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
    is_listed = IN_A_LIST.search(utterance.before(match)) or AND_ANOTHER.match(utterance.text, match.end("span"))
    weekday = read_weekday(match["weekday"])
    if tense is None or utterance.is_habit(match) or is_listed or weekday == utterance.today.weekday():
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
