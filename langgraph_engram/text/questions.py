"""Tell what type of answer a query expects by its question words: a time, a place, a person, a number, a reason.

The expected answer type is what question answering starts from (Li and Roth 2002, "Learning question classifiers").
It says what evidence is worth showing and what to read off it; it never says what must be there.
"""

import re
from dataclasses import dataclass
from typing import Literal

from langgraph_engram.temporal.patterns import MONTH, WEEKDAY

AnswerType = Literal[
    "time",
    "clock_time",
    "weekday",
    "duration",
    "number",
    "age",
    "place",
    "person",
    "name",
    "reason",
    "yes_no",
    "advice",
    "content",
]

AMOUNTS: frozenset[AnswerType] = frozenset({"number", "duration"})
"""Types that add up: every part of what is counted must be known."""
PERIOD = "year|month|day|date|time|week|weekend|season|century|decade"
PLACE = (
    "places?|city|cities|towns?|villages?|country|countries|states?|regions?|venue|location|continents?|islands?|"
    "neighbou?rhood|area(?!\\s+of\\b)"
)
NAMED = (
    "books?|novels?|movies?|films?|songs?|albums?|bands?|artists?|singers?|authors?|games?|shows?|series|plays?|"
    "painting|brands?|compan(?:y|ies)|organi[sz]ations?|teams?|clubs?|schools?|universit(?:y|ies)|colleges?|"
    "restaurants?|titles?"
)
AUXILIARY = "is|are|was|were|am|do|does|did|has|have|had|can|could|would|will|should|might|may|must"
FIGURE = r"number(?=\s+of\b)|price|percentage|percent|discount|amount|costs?|salary|fee|score"
"""What is told by a number."""
WHOSE = r"(?:the|an?|my|our|his|her|their|your|\w+['’]s)\s+"
EXACTLY = "exact\\s+|usual\\s+"
OF_WHAT_KIND = rf"(?:(?!(?:{AUXILIARY})\b)\w+\s+)?"
"""A word between the question word and its noun: "which European countries", but not "what is city life"."""
AFTER_NOUN = (
    f"{AUXILIARY}|and|or|of|in|on|at|for|to|from|that|the|an?|my|our|his|her|their|your|i|we|he|she|they|you|it"
)
IS_ALONE = rf"(?!\s+(?!(?:{AFTER_NOUN})\b)(?-i:[a-z]+)(?<!ly)(?:\s+(?-i:[a-z]+)){{0,2}}\s+(?:{AUXILIARY})\b)"
"""After a noun that is asked for: "which time did", but not "which time management app did"."""
ENDS_NOUN = rf"(?=\W*$|\s+(?:{AFTER_NOUN})\b|\s+(?-i:[A-Z]))"
"""After a noun that is asked for whole: "what discount did", but not "what discount code did"."""
NOT_OF_MEMORY = r"^(?!\W*(?:did|does|has|had|how|what|which|who|where|when|(?:do|have)(?!\s+you\b))\b)"
ADVICE = (
    rf"{NOT_OF_MEMORY}.*\b(?:any|some|more)\s+(?:\w+\s+){{0,2}}(?:tips?|advice|ideas?|suggestions?|recommendations?)\b|"
    r"\b(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:recommend|suggest|advise)\b|"
    r"\b(?:do|would)\s+you\s+(?:recommend|suggest)\b|(?:^|[.!?]\s+)do\s+you\s+think\b|\bwhat\s+do\s+you\s+think\b|"
    r"(?:^|[.!?]\s+)(?:(?:what|which)(?!\s+time)\s+(?:\w+\s+){0,2})?should\s+I\b"
)
"""What is asked of whoever answers, rather than of memory."""
PATTERNS: tuple[tuple[str, AnswerType], ...] = (
    (ADVICE, "advice"),
    (r"^\W*(?:(?:since|until|by|from)\s+)?when\b|\bhow long ago\b|\bhow recently\b", "time"),
    (rf"\b(?:what|which)\s+{OF_WHAT_KIND}(?:days?\s+of\s+the\s+week|weekdays?)\b{IS_ALONE}", "weekday"),
    (rf"(?<!since\s)\bwhat\s+(?:{EXACTLY})?time\b(?!\s+of\b){IS_ALONE}", "clock_time"),
    (rf"\b(?:what|which)\s+{OF_WHAT_KIND}(?:{PERIOD})\b{IS_ALONE}", "time"),
    (r"\bhow long\b|\bhow much time\b|\bhow many (?:years|months|weeks|days|hours|minutes)\b", "duration"),
    (
        rf"\bhow old\b|\bwhat age\s+(?:{AUXILIARY})\b|"
        rf"\bwhat\s+(?:is|was|were|are)\s+{WHOSE}(?:[\w'’]+\s+)?age\b(?=\s+of\b|\W*$)",
        "age",
    ),
    (r"\bhow (?:many|much|often|far|tall|big|large|heavy|high)\b", "number"),
    (rf"\bwhat\s+(?:(?:is|was|were|are)\s+{WHOSE}(?:[\w'’]+\s+){{0,2}}?)?(?:{FIGURE})\b{ENDS_NOUN}", "number"),
    (rf"^\W*(?:(?:from|to|in|at)\s+)?where\b|\b(?:what|which)\s+{OF_WHAT_KIND}(?:{PLACE})\b", "place"),
    (r"^\W*(?:(?:with|to|for|from|by)\s+)?(?:who|whom|whose)\b", "person"),
    (r"^\W*why\b|\bhow come\b|\bfor what reason\b|\bwhat (?:is|was|were|are) the reasons?\b", "reason"),
    (r"\bwhat (?:is|was|are|were)\b.{0,40}\bnames?\b|\b(?:called|titled|named)\s*\?", "name"),
    (rf"\b(?:what|which)\s+{OF_WHAT_KIND}(?:{NAMED})\b", "name"),
    (rf"^\W*(?:{AUXILIARY})\b", "yes_no"),
)  # fmt: skip
"""What a query looks like that expects each type; the first that fits counts."""
CONTRACTED = re.compile(r"\b(what|who|where|when|how)['’]s\b", re.IGNORECASE)
SEVERAL = re.compile(
    r"^\W*(?:what|which)\s+(?:are|were)\b|\bboth\b|\bin common\b|"
    r"^\W*(?:what|which)\s+(?:(?!is\b|was\b|did\b|does\b|has\b|had\b)[\w/-]+\s+){0,2}[\w/-]+(?:ies|[^su\W]s)\s+"
    r"(?:are|were|do|does|did|has|have|had|can)\b",
    re.IGNORECASE,
)
"""Queries that ask for several things."""
WEIGHED = re.compile(
    r"\b(?:would|could|might|likely|probably|considered|every|all|each|together|first|last|most|least|than|before|"
    r"after|between|or)\b|^\W*(?:what|where|who|how)\s+(?:has|have)\b",
    re.IGNORECASE,
)
"""Queries whose answer is weighed from several statements."""
SUM = re.compile(
    r"\b(?:total|altogether|combined|in all|average|sum of|how many times|how (?:much|many)(?:\s+\w+)?\s+more|"
    r"how (?:much|many)(?:\s+\w+)?\s+(?:older|younger|longer|cheaper|taller|heavier)|difference (?:in|between))\b",
    re.IGNORECASE,
)
"""What comes to one number out of several."""
ORDER = re.compile(r"\border\b|\b(?:earliest|oldest|first)\s+to\s+(?:latest|newest|last)\b", re.IGNORECASE)
"""Queries for an order."""
PAST_STATE = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|originally|earlier|no longer|change[sd]?)\b|"
    r"\bdid\b.*\buse to\b|\bbefore\W*$",
    re.IGNORECASE,
)
"""Queries that ask for what was so before."""
LATER_STATE = re.compile(
    r"\b(?i:before)\s+(?:(?:I|we|he|she|they|[A-Z]\w+)\s+\w+\s+(?:to|in|at|for|with)\s+)?(?:the\s+|The\s+)?"
    rf"(?!(?i:{MONTH}|{WEEKDAY})\b)(?P<later>[A-Z][^?]*)"
)
"""Queries for what was so before something named."""
ANSWER_TYPES = tuple((re.compile(pattern, re.IGNORECASE), name) for pattern, name in PATTERNS)


def answer_type(query: str) -> AnswerType:
    """Tell what type of answer a query expects; `content` where its words do not say."""
    full = CONTRACTED.sub(r"\1 is", query)
    return next((name for pattern, name in ANSWER_TYPES if pattern.search(full)), "content")


def asks_for_several(query: str) -> bool:
    """Return whether a query asks for several things by its words ("What books has", "both")."""
    return SEVERAL.search(query) is not None


def sums_up(text: str) -> bool:
    """Return whether a query asks for, or a sentence tells, what several amounts come to ("in total", "how much more")."""
    return SUM.search(text) is not None


def asks_across(query: str) -> bool:
    """Return whether what a query asks for adds up over several occasions: a number, a duration, a sum, an order."""
    return answer_type(query) in AMOUNTS or sums_up(query) or ORDER.search(query) is not None


def asks_for_past(query: str) -> bool:
    """Return whether a query asks for what was so before ("Where did I live before?")."""
    return PAST_STATE.search(query) is not None


def looks_back(query: str) -> bool:
    """Return whether what was so before answers a query: "What did I use to drive?", "Where did I live before Oslo?"."""
    return asks_for_past(query) or bool(later_state(query))


def later_state(query: str) -> str:
    """Return what a query names that came later: "Oslo" of "Where did I live before Oslo?"; empty for nothing."""
    match = LATER_STATE.search(query)
    return match.group("later") if match else ""


def asks_for_one(query: str) -> bool:
    """Return whether one statement can answer a query: no list, count or advice, nothing to conclude or to compare."""
    several = asks_for_several(query) or answer_type(query) in AMOUNTS | {"advice"}
    return not (several or WEIGHED.search(query))


UNIT = r"(?:many\s+(?:day|week|month|year)s?|long|much\s+time)"
PASSED = (
    r"(?:\s+(?:have|has|had|did|were|was|went|lie|lay|are|is))?(?:\s+(?:passed|elapsed|gone\s+by|pass|go\s+by|there))?"
)
THE_DAY = r"(?:the\s+(?:day|date|time|moment)\s+(?:that\s+|when\s+|of\s+)?)?"
END = r"[\s?.!]*$"
BRACKETS = re.compile(r"\s*\([^()]*\)")
CHOICE = re.compile(
    r"^\W*(?:which|what|who)\b(?P<shared>[^,:?]*?)\b(?:first|earlier|earliest|"
    rf"last|later|latest|(?:most|more)\s+recently)\b(?P<more>[^,:?]*)[,:]\s*(?P<one>.+?),?\s+or\s+(?P<two>.+?){END}",
    re.IGNORECASE,
)
"""Queries that name two things and ask which came first or last."""
SPANS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bhow\s+{UNIT}\b.*?\bbetween\s+{THE_DAY}(?P<one>.+?)\s+and\s+{THE_DAY}(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}{PASSED}\s+since\s+(?P<one>.+?)\s+when\s+(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}\s+ago\s+(?:did|was|were|had|have)\s+(?P<one>.+?)\s+when\s+(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}\s+(?:before|after)\s+{THE_DAY}(?P<one>.+?)\s+(?:did|was|were)\s+(?P<two>.+?){END}",
        rf"\bhow\s+{UNIT}\s+did\s+it\s+take\b.*?\bto\s+(?P<two>.+?)\s+(?:after|since|from)\s+(?P<one>.+?){END}",
    )
)
"""Queries for the time between two things."""


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """What a query compares the times of."""

    parts: tuple[str, str]
    """What happened."""
    shared: str = ""
    """What the query says of both."""


def time_question(query: str) -> TimeQuestion | None:
    """Return the two things whose times a query compares; None where it compares none, or its words do not say so."""
    query = BRACKETS.sub("", query)
    if choice := CHOICE.search(query):
        return TimeQuestion((choice["one"], choice["two"]), f"{choice['shared']} {choice['more']}".strip())
    between = next((found for pattern in SPANS if (found := pattern.search(query))), None)
    return TimeQuestion((between["one"], between["two"])) if between else None
