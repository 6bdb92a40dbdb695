"""Read a number, a frequency, a sum or a length of time off a sentence: "3", "Twice a year", "$50", "Since 2016".

This module does not know which sentence is right.
"""

import re

from langgraph_engram.language.tokens import content_stems

ONES = "one|two|three|four|five|six|seven|eight|nine"
COUNT = (
    rf"(?:(?:\d+\s?[-–]\s?)?\d[\d,.]*|(?:twen|thir|for|fif)ty-(?:{ONES})|{ONES}|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|"
    r"hundred|couple|few|several|half)"
)
UNIT = r"(?:(?:year|month|week|day|hour|minute|decade)s?|seconds)"
NUMBER = re.compile(rf"\b{COUNT}\b(?!-\w)", re.IGNORECASE)
"""A count; the 48 of "a 48-hour contest" counts nothing."""
LABEL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+ \d+(?=\W*$|[,;:.!?)])|^\W*[A-Z][\w ]*? \d+(?=:)")
"""A name that ends in a number, which counts nothing: "Printmaking 101: a guide"."""
MONEY = re.compile(
    r"[$€£¥]\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:k|m|thousand|million|billion)\b)?|"
    r"\b\d[\d,]*(?:\.\d+)?k?\s?(?:dollars?|euros?|pounds?|bucks|usd|eur|gbp)\b",
    re.IGNORECASE,
)
ASKS_MONEY = re.compile(
    r"\bhow much\b.*\b(?:money|costs?|pay|paid|spen[dt]|spending|sav(?:e[ds]?|ing)|earn(?:ed|s)?|rais(?:e[ds]?|ing)|"
    r"worth|owe[ds]?|charged?|donated?|invest(?:ed)?|rent|borrow(?:ed)?|lend|lent)\b|"
    r"\bwhat (?:(?:is|was|were|are) the )?(?:price|amount(?!\s+of\b)|costs?|salary|rent|fee|budget)\b",
    re.IGNORECASE,
)
"""Queries for a sum of money."""
FREQUENCY = re.compile(
    r"\b(?:once|twice|thrice|\w+\s+times?)(?:\s+(?:or|to)\s+\w+)?(?:\s+(?:a|an|per|each|every)\s+\w+)?\b|"
    r"\b(?:every|each)\s+(?:\w+\s+)?(?:day|week|weekend|month|year|morning|evening|night|summer|winter)s?\b|"
    r"\b(?:daily|weekly|monthly|yearly)\b",
    re.IGNORECASE,
)
DURATION = re.compile(
    rf"\b(?:(?:a\s+)?{COUNT}(?:\s+of)?|an?|many|all)\s+(?:more\s+|long\s+)?{UNIT}\b|"
    r"\bsince\s+(?:i\s+was\s+\w+|(?!then\b|we\b|i\b)\w+(?:\s+\d{4})?)|\bfor\s+(?:ages|years|months|weeks|days|a\s+while)\b",
    re.IGNORECASE,
)
OFTEN = re.compile(r"\bhow (?:often|frequently)\b", re.IGNORECASE)
COUNTED = re.compile(
    r"\bhow (?:many|much)\s+(?:\w+\s+)?(\w+)\s+(?:is|are|was|were|do|does|did|has|have|had|can|will)\b", re.IGNORECASE
)
"""What a query wants counted."""
CLOSE = 24
"""Characters after a number in which what it counts is named."""


def read_number(query: str, text: str) -> str:
    """Give the sum or how often where that is asked, else the number of what is counted, else the first one."""
    if ASKS_MONEY.search(query):
        money = MONEY.search(text)
        return money.group() if money else ""
    often = FREQUENCY.search(text)
    if often and OFTEN.search(query):
        return often.group()
    counted = COUNTED.search(query)
    stems = set(content_stems(counted.group(1))) if counted else set()
    text = LABEL.sub("", text)
    found = list(NUMBER.finditer(text))
    for match in found:
        following = NUMBER.split(text[match.end() : match.end() + CLOSE], maxsplit=1)[0]
        if stems & set(content_stems(following)):
            return match.group()
    # "one" alone is a pronoun more often than a number.
    others = [match.group() for match in found if match.group().casefold() != "one"]
    return others[0] if others else often.group() if often else ""


def read_duration(text: str) -> str:
    """Give how long something has lasted or takes; empty for none."""
    match = DURATION.search(text)
    return match.group() if match else ""
