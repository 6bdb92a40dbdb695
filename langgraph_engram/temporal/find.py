"""Find the times that English text mentions, given when it was said, and the time that a query asks about.

Days are those of the speaker's own clock, and every interval is given in UTC as if that clock showed it, both ends
included. Without a clock, only times that name their year in full are found. Times that were found are joined with the
words around them: ranges, "early X", "the week of X". The rules for each kind of time are in `rules`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain

from langgraph_engram.schema import DateOrder, Interval, TimeConstraint
from langgraph_engram.temporal.datetimes import DAYS_OF_A_WEEK, Granularity, Period, format_interval, wall_time
from langgraph_engram.temporal.patterns import AMOUNT, DIGITS, UNIT, UNITS, UNTIL, WEEKDAY, Rule, Rules, Utterance
from langgraph_engram.temporal.rules import MONTH_RULES, NUMBER_RULES, SEASON_RULES, UNIT_RULES, WEEKDAY_RULES

RULES: tuple[Rules, ...] = (NUMBER_RULES, MONTH_RULES, SEASON_RULES, UNIT_RULES, WEEKDAY_RULES)
PLAUSIBLE_YEARS = range(1500, 2200)
"""Years of a clock that is believed."""
NO_CLOCK = datetime(2000, 1, 1, tzinfo=UTC)
"""Used where times that need a clock are dropped anyway."""
CACHE_SIZE = 1024
MOST_MATCHES = 1_000
"""Matches of a text that are read, the longest first: one that has more is a table or a log."""
FEW_TIMES, CHARACTERS_A_TIME = 8, 100
"""So many times are read in any text, and one for so many characters: more stand in a table, or a list of days."""
LONGEST_CACHED = 2_000
"""Characters of a text whose times are cached among many; of longer ones the last few are."""
WORD = re.compile(r"[a-z]+")
DIGIT = re.compile(r"\d")
REACH = 48
"""Characters before a time in which words that change it, or rule it out, are looked for."""
RECURRING = re.compile(
    r"(?i)\b(?:(?:every|each|most|any|per|happy|previous|preceding|following|same|particular|certain|typical)"
    r"(?:\s+(?:other|single|last|first|second|third))?|an?|like\s+just)[^\S\r\n]+$|"
    rf"\b(?:{AMOUNT}\s+{UNIT}s?|the\s+(?:{WEEKDAY}|{UNIT}))\s+(?:before|after|prior\s+to|from)\s+(?:the\s+)?$"
)
"""Words that make the time after them a habit, a wish or a kind, or that count from it, or it from another time."""
RANGE = re.compile(rf"(?i){UNTIL}(?:the\s+)?|\s*/\s*")
AND = re.compile(r"(?i),?\s+and\s+(?:the\s+)?")
WITHIN = re.compile(r"(?i),?\s+\(?(?:(?:on|in|from|between)\s+(?:the\s+)?)?")
OPENER = re.compile(r"(?i)\b(?P<opener>from|between)\s+(?:the\s+)?$")
THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
PART_OF = re.compile(rf"(?i)\b(?:the\s+)?(?P<part>{'|'.join(THIRDS)})(?:\s+(?:in|of|part\s+of))?[\s-]+(?:the\s+)?$")
WEEK_OF = re.compile(r"(?i)\b(?:the\s+)?(?P<unit>week|weekend)\s+of\s+(?:the\s+)?$")
UNIT_NAMED = re.compile(rf"(?i)\bweek(?:end)?s?\b|\b{WEEKDAY}")
VAGUE = re.compile(r"(?i)\b(?:couple|few|several|other)\b")
"""Words for amounts without certain ends."""
NUMBERS_ALONE = re.compile(r"\d\d?([/-])\d\d?\1\d+")
"""A date whose order of day and month a reader has to guess."""
BRACKET = re.compile(r"\s*\(")
WIDER: dict[Granularity, int] = {
    "time": 1, "day": 3, "weekend": 3, "week": 7, "range": 7, "month": 31, "season": 31, "year": 366
}  # fmt: skip
"""Days that "around" reaches beyond both ends, by how exact the time is (DimMem's search: 1, 3, 31 and 366)."""
LEAD = re.compile(
    r"(?i)\b(?:(?P<before>before|prior\s+to|earlier\s+than|up\s+to)|(?P<after>after|later\s+than|following)|"
    r"(?P<since>since|ever\s+since|starting(?:\s+(?:in|on|from))?|as\s+of|beginning(?:\s+(?:in|on))?)|"
    r"(?P<until>by|until|till|up\s+until|no\s+later\s+than|through|to)|"
    r"(?P<around>around|about|circa|roughly|approximately|close\s+to|near)|on|in|during|at|over|within|from|for|of|between)"
    r"\s+(?:the\s+)?$"
)
"""The preposition of a time in a query."""
LEAD_REACH = 32
ONWARDS = re.compile(r"(?i)\s+(?:on|onwards?|forward)\b(?!\s+(?:the|my|a)\b)")


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time that a text mentions."""

    start_char: int
    end_char: int
    text: str
    period: Period
    relative: bool
    """Whether it depends on the speaker's clock."""

    @property
    def interval(self) -> Interval:
        """Return the time, in UTC, both ends included."""
        return self.period.interval


def find_times(text: str, clock: datetime | None, date_order: DateOrder | None = None) -> list[TimeMention]:
    """Find the times that a text mentions, in order, not overlapping; an impossible or uncertain date is none.

    `clock` is when it was said: without it only complete dates are found. `date_order` is that of day and month in
    "03/04/2025", where the text itself does not show it.
    """
    find = _find if len(text) <= LONGEST_CACHED else _find_in_long
    return list(find(text, wall_time(clock), date_order))


def resolve_times(text: str, clock: datetime | None, date_order: DateOrder | None = None) -> str:
    """Return the text with its relative times resolved in brackets: "I went yesterday (7 May 2023)".

    A past weekday, week or weekend is counted from the clock too: "last Friday (5 May 2023, the Friday before)".
    A date in numbers is written out. What is vague ("a few years ago") gets no brackets.
    """
    parts, done = [], 0
    for mention in find_times(text, clock, date_order):
        is_clear = NUMBERS_ALONE.fullmatch(mention.text) or (mention.relative and not VAGUE.search(mention.text))
        if clock and is_clear and not BRACKET.match(text, mention.end_char):
            meanings = [format_interval(mention.interval, mention.period.granularity), _format_distance(mention, clock)]
            parts.append(f"{text[done : mention.end_char]} ({', '.join(filter(None, meanings))})")
            done = mention.end_char
    return "".join([*parts, text[done:]])


def parse_time(text: str, clock: datetime | None) -> Interval | None:
    """Read a text that is a time, or else the first that it mentions; None if it names no time that exists.

    "2023-05-07", "2023-05", "2023", "2023-05-01/2023-05-07", or "last week", which counts from `clock`.
    """
    first, slash, last = text.strip().partition("/")
    if slash and "/" not in last and (start := parse_time(first, clock)) and (end := parse_time(last, clock)):
        return Interval(start=start.start, end=end.end) if start.start <= end.end else None
    tried = ((len(before), find_times(before + text.strip(), clock)) for before in ("", "in ", "on "))
    return next((mention.interval for start, found in tried for mention in found if mention.start_char >= start), None)


def parse_constraint(query: str, now: datetime | None) -> TimeConstraint | None:
    """Return when the thing asked for happened, from the times that a query mentions; None if it mentions none.

    It is the span of the closed times, cut by the open ones ("before", "since"); where that is empty, the first time.
    Without `now` only complete dates count.
    """
    limits = [_limit_of(query, mention) for mention in find_times(query, now)]
    if not limits:
        return None
    (first_char, _, start, end), (_, last_char, _, _) = limits[0], limits[-1]
    closed = [(first, last) for _, _, first, last in limits if first and last]
    starts = [first for _, _, first, last in limits if first and not last]
    ends = [last for _, _, first, last in limits if last and not first]
    if closed:
        starts.append(min(first for first, _ in closed))
        ends.append(max(last for _, last in closed))
    latest, earliest = max(starts, default=None), min(ends, default=None)
    if not (latest and earliest and latest > earliest):
        start, end = latest, earliest
    return TimeConstraint(text=query[first_char:last_char], start=start, end=end)


@lru_cache(maxsize=CACHE_SIZE)
def _find(text: str, clock: datetime | None, date_order: DateOrder | None) -> tuple[TimeMention, ...]:
    """Find times, cached: a text is asked for its type, its dates and its brackets in turn."""
    known = clock is not None and clock.year in PLAUSIBLE_YEARS
    utterance = Utterance(text, clock if clock and known else NO_CLOCK, date_order)
    return tuple(_joined(text, _claim(utterance, complete=not known)))


_find_in_long = lru_cache(maxsize=4)(_find.__wrapped__)


def _claim(utterance: Utterance, *, complete: bool) -> list[TimeMention]:
    """Return the times of the longest matches, if `complete` those with a year; what is no time blocks others too."""
    text = utterance.text
    words = {*WORD.findall(text.lower()), *(DIGITS if DIGIT.search(text) else "")}
    rules = chain.from_iterable(rules for rules in RULES if not rules.triggers.isdisjoint(words))
    matches = [(*match.span("span"), rule, match) for rule in rules for match in rule.pattern.finditer(text)]
    taken = bytearray(len(text))
    found = []
    matches.sort(key=lambda placed: (placed[0] - placed[1], placed[0]))
    left = max(FEW_TIMES, len(text) // CHARACTERS_A_TIME)
    for start, end, rule, match in matches[:MOST_MATCHES]:
        if not left or any(taken[start:end]):
            continue
        left -= 1
        taken[start:end] = b"\1" * (end - start)
        names_year = (match.groupdict().get("year") or "")[-1:].isdigit()
        if (names_year or not complete) and (period := _read(rule, match, utterance)):
            found.append(TimeMention(start, end, match["span"], period, not names_year))
    return sorted(found, key=lambda time: time.start_char)


def _read(rule: Rule, match: re.Match[str], utterance: Utterance) -> Period | None:
    start = match.start("span")
    try:
        is_recurring = RECURRING.search(utterance.text[max(0, start - REACH) : start])
        return None if is_recurring else rule.read(match, utterance)
    except (ValueError, OverflowError):
        return None


def _joined(text: str, found: Iterable[TimeMention]) -> list[TimeMention]:
    """Join ordered, non-overlapping times with each other and with the words before them."""
    widened: list[TimeMention] = []
    for time in found:
        if widened and (joined := _join_two(text, widened[-1], time)):
            widened[-1] = joined
            continue
        if widened and _excludes(text, widened[-1], time):
            widened.pop()
            continue
        time = _with_words_before(text, time)
        if widened and widened[-1].end_char > time.start_char:
            widened.pop()
        widened.append(time)
    return widened


def _join_two(text: str, first: TimeMention, last: TimeMention) -> TimeMention | None:
    opener = OPENER.search(text[max(0, first.start_char - REACH) : first.start_char])
    joint = AND if opener and opener["opener"].casefold() == "between" else RANGE
    if first.period.first > last.period.last or not joint.fullmatch(text[first.end_char : last.start_char]):
        return None
    start = first.start_char - (len(opener.group()) if opener else 0)
    period = first.period.join(last.period)
    return TimeMention(start, last.end_char, text[start : last.end_char], period, first.relative or last.relative)


def _excludes(text: str, first: TimeMention, last: TimeMention) -> bool:
    """Return whether a time does not lie in the period right before it: "last month on May 15th", said in July."""
    is_close = first.relative and last.relative and WITHIN.fullmatch(text[first.end_char : last.start_char])
    is_unit = first.period.granularity in ("week", "month", "year")
    return bool(is_close) and is_unit and not first.interval.meets(last.interval)


def _with_words_before(text: str, found: TimeMention) -> TimeMention:
    for pattern in (PART_OF, WEEK_OF):
        match = pattern.search(text[max(0, found.start_char - REACH) : found.start_char])
        if match and (period := _changed(found.period, match)):
            start = found.start_char - len(match.group())
            found = TimeMention(start, found.end_char, text[start : found.end_char], period, found.relative)
    return found


def _changed(period: Period, match: re.Match[str]) -> Period | None:
    if match.re is WEEK_OF:
        return Period.of_unit(UNITS[match["unit"].casefold()], period.first) if period.granularity == "day" else None
    is_divided = period.granularity in ("week", "month", "season", "year")
    return period.third(THIRDS[match["part"].casefold()]) if is_divided else None


def _format_distance(mention: TimeMention, clock: datetime) -> str:
    """Return how long before the clock a past week, weekend or weekday was: "the Friday before"; else nothing."""
    first, unit, today = mention.period.first, mention.period.granularity, clock.date()
    days = (today - first).days
    if mention.period.last >= today or not UNIT_NAMED.search(mention.text):
        return ""
    if unit == "day" and days <= DAYS_OF_A_WEEK:
        return f"the {first:%A} before"
    weeks = (days + first.weekday() - today.weekday()) // DAYS_OF_A_WEEK
    return f"the {unit} before" if unit in ("week", "weekend") and weeks <= 1 else ""


def _limit_of(query: str, mention: TimeMention) -> tuple[int, int, datetime | None, datetime | None]:
    """Return where a time of a query begins and ends there, and the limits that it sets; an open one is None."""
    first_char, last_char = mention.start_char, mention.end_char
    start, end = mention.interval.start, mention.interval.end
    lead = LEAD.search(query[max(0, first_char - LEAD_REACH) : first_char])
    if lead is None:
        return first_char, last_char, start, end
    onwards, kind = ONWARDS.match(query, last_char), lead.lastgroup
    if onwards and lead.group().casefold().startswith("from"):
        kind = "since"
    if onwards and kind == "since":
        last_char = onwards.end()
    second, wider = timedelta(seconds=1), timedelta(days=WIDER[mention.period.granularity])
    limits: dict[str | None, tuple[datetime | None, datetime | None]] = {
        "before": (None, start - second),
        "after": (end + second, None),
        "since": (start, None),
        "until": (None, end),
        "around": (start - wider, end + wider),
    }
    return first_char - len(lead.group()), last_char, *limits.get(kind, (start, end))
