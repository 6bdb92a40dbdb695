"""Read a number, a share, a sum, how often or a length of time off a sentence: "3", "$50", "Since 2016".

This module does not know which sentence is right.
"""

import re

from langgraph_engram.temporal.patterns import WEEKDAY_NAME
from langgraph_engram.text.tokens import content_stems

ONES = "one|two|three|four|five|six|seven|eight|nine"
SPELLED = (
    rf"(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-(?:{ONES}))?|{ONES}|ten|eleven|twelve|"
    r"(?:thir|four|fif|six|seven|eigh|nine)teen|(?:a\s+|one\s+)?hundred)"
)
VAGUE = r"(?:an?\s+)?(?:couple|few)|several"
DIGITS = r"(?<!\d)(?<!\d[.,])(?:\d+\s?[-–]\s?)?\d[\d,.]*"
"""A number or a range; none begins within another, so that long rows of digits are read once."""
COUNT = rf"(?:{DIGITS}|{SPELLED}|{VAGUE}|half)"
UNIT = r"(?:(?:year|month|week|day|hour|minute|decade)s?|seconds)"
NUMBER = re.compile(rf"\b{COUNT}\b(?!-\w)", re.IGNORECASE)
"""A count; the 48 of "a 48-hour contest" counts nothing."""
LABEL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+ \d+(?=\W*$|[,;:.!?)])|^\W*[A-Z][\w ]*? \d+(?=:)")
"""A name that ends in a number, which counts nothing: "Printmaking 101: a guide"."""
MONEY = re.compile(
    r"[$€£¥]\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:k|m|thousand|million|billion)\b)?|"
    r"(?<![\d.,])\d[\d,]*(?:\.\d+)?k?\s?(?:dollars?|euros?|pounds?|bucks|usd|eur|gbp)\b",
    re.IGNORECASE,
)
ASKS_MONEY = re.compile(
    r"\bhow much\b.{0,200}"
    r"\b(?:money|costs?|pay|paid|spen[dt]|spending|sav(?:e[ds]?|ing)|earn(?:ed|s)?|rais(?:e[ds]?|ing)|"
    r"worth|owe[ds]?|charged?|donated?|invest(?:ed)?|rent|borrow(?:ed)?|lend|lent)\b|"
    r"\bwhat (?:(?:is|was|were|are) (?:the|my|our|his|her|their|\w+['’]s) (?:\w+ ){0,2}?)?"
    r"(?:price|amount(?!\s+of\b(?!\s+money))|costs?|salary|rent|fee|budget)\b",
    re.IGNORECASE,
)
"""Queries for a sum of money."""
LARGE = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+\b|(?<![\d.,])\d{1,4}k\b", re.IGNORECASE)
"""A number that is large enough for a sum whose currency goes without saying."""
SHARE = re.compile(rf"\b{COUNT}\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)
ASKS_SHARE = re.compile(r"\bpercent(?:age)?\b", re.IGNORECASE)
DAY_PART = (
    r"(?:day|week|weekend|month|year|morning|evening|night|summer|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?"
)
PER = r"\s+(?:a|an|per|each|every)\s+\w+"
FREQUENCY = re.compile(
    rf"\bonce(?:\s+(?:or|to)\s+\w+)?{PER}\b|"
    rf"\b(?:twice|thrice|(?:{COUNT}|many|countless)\s+times)(?:\s+(?:or|to)\s+\w+)?(?:{PER})?\b|"
    rf"\b{COUNT}\s+{DAY_PART}{PER}\b|\b\d{{1,3}}x{PER}\b|\b(?:every|each)\s+(?:\w+\s+)?{DAY_PART}\b|"
    rf"\bon\s+{WEEKDAY_NAME}s\b|\b(?:daily|weekly|monthly|yearly|rarely|seldom|hardly\s+ever)\b",
    re.IGNORECASE,
)
DURATION = re.compile(
    rf"\b(?:(?:a\s+)?{COUNT}(?:\s+of)?|an?|many|all)\s+(?:more\s+|long\s+)?{UNIT}\b|"
    r"\bsince\s+(?:i\s+was\s+(?:an?\s+)?\w+|(?!then\b|we\b|i\b)\w+(?:\s+\d{4})?)|\bfor\s+(?:ages|years|months|weeks|days|a\s+while)\b",
    re.IGNORECASE,
)
OFTEN = re.compile(r"\bhow (?:often|frequently)\b", re.IGNORECASE)
COUNTED = re.compile(
    r"\bhow (?:many|much)\s+(?:\w+\s+)?(\w+)\s+(?:is|are|was|were|do|does|did|has|have|had|can|will)\b", re.IGNORECASE
)
"""What a query wants counted."""
NO_COUNT = frozenset({"one", "half"})
"""What alone is more often a pronoun, or a part, than a number."""
CLOSE = 24
"""Characters after a number in which what it counts is named."""


def read_number(query: str, text: str) -> str:
    """Give the sum, share or how often where that is asked, else the number of what is counted, else the first one."""
    if ASKS_MONEY.search(query):
        return _first(text, MONEY, LARGE)
    if OFTEN.search(query):
        return _first(text, FREQUENCY)
    if ASKS_SHARE.search(query):
        return _first(text, SHARE)
    if "discount" in query.casefold() and (told := _first(text, SHARE, MONEY)):
        return told
    bare = LABEL.sub("", text)
    others = (match.group() for match in NUMBER.finditer(bare) if match.group().casefold() not in NO_COUNT)
    return _counting(query, bare) or next(others, "") or _first(text, FREQUENCY)


def _first(text: str, *patterns: re.Pattern[str]) -> str:
    """Give what the first pattern that is found finds first; empty for none."""
    return next((match.group() for pattern in patterns if (match := pattern.search(text))), "")


def counts(query: str, text: str) -> bool:
    """Say whether a sentence tells a number of what a query wants counted, and not only some or another number."""
    counting = _counting(query, LABEL.sub("", text))
    return bool(counting) and not re.fullmatch(VAGUE, counting, re.IGNORECASE)


def _counting(query: str, text: str) -> str:
    """Give the number beside what a query wants counted; empty for none."""
    counted = COUNTED.search(query)
    stems = set(content_stems(counted.group(1))) if counted else set()
    for match in NUMBER.finditer(text):
        following = NUMBER.split(text[match.end() : match.end() + CLOSE], maxsplit=1)[0]
        if stems & set(content_stems(following)) and match.group().casefold() != "half":
            return match.group()
    return ""


def read_duration(text: str) -> str:
    """Give how long something has lasted or takes; empty for none."""
    return _first(text, DURATION)
