"""Hold the English words that times are told in, as pieces of patterns, and what each stands for.

This module does not know how the pieces are put together.
"""

import re

from langgraph_engram.language.periods import Unit, Which

CENTURY = 100
PIVOT = 50
"""Two-digit years below it belong to this century, the others to the last."""

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()
NUMBERS = {
    word: number
    for number, word in enumerate(
        (
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty"
        ).split(),
        start=1,
    )
} | {"a": 1, "an": 1, "another": 1, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100}
VAGUE_NUMBERS = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
"""What is meant by a vague number, at least and at most."""
ORDINALS = {
    word: number
    for number, word in enumerate(
        (
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third "
            "twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
        ).split(),
        start=1,
    )
}
DECADES = {
    word: 1900 + 10 * number
    for number, word in enumerate("twenties thirties forties fifties sixties seventies eighties nineties".split(), 2)
}
UNITS: dict[str, Unit] = {
    "day": "day",
    "night": "day",
    "week": "week",
    "weekend": "weekend",
    "month": "month",
    "year": "year",
    "yr": "year",
    "decade": "decade",
}
WHICHES: dict[str, Which] = {
    "past": "recent",
    "last": "last",
    "previous": "last",
    "coming": "coming",
    "upcoming": "coming",
    "this": "this",
    "next": "next",
}
"""The occurrence that a word before a name chooses."""

MONTH = (
    r"(?:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?|july?|aug(?:ust|\.)?|"
    r"sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)(?![a-z])"
)
WEEKDAY_NAME = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
FULL_WEEKDAY = rf"{WEEKDAY_NAME}(?![a-z])"
WEEKDAY = rf"(?:{FULL_WEEKDAY}|(?-i:(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?:\b\.(?=,|\s*\d))?)(?![a-z]))"
"""A weekday in full, or short with a capital: "sat" and "sun" are words."""
DAY_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?![\d:])"
ORDINAL = rf"(?:(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)|{'|'.join(sorted(ORDINALS, key=len, reverse=True))})"
FULL_YEAR = r"(?:1[5-9]|20|21)\d\d(?![\d%])(?!\.\d)"
YEAR = rf"(?:{FULL_YEAR}(?!-\d)|['’]\d\d(?!\d)|(?:last|this|next)\s+year)"
COUNT = rf"(?:\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
AMOUNT = rf"(?:(?:a\s+)?(?:couple|few)(?:\s+of)?|several|{COUNT})"
UNIT = r"(?:day|night|week|weekend|fortnight|month|year|yr|decade)"
SEASON = r"(?:spring|summer|autumn|fall|winter)"
PART_OF_DAY = r"(?:\s+(?:early\s+|late\s+)?(?:morning|afternoon|evening|night)(?![a-z]))"
WHICH = r"(?:(?:the\s+|this\s+)?(?:past|last|previous|coming|upcoming)|this|(?<!the\s)next)"
"""Not "the next": in a story that counts from what was told before."""
UNTIL = r"\s*(?:-|–|—|to|until|till|thru|through)\s*"
"""What stands between the ends of a range."""

FUNCTION_WORDS = frozenset(
    (
        "a after again ago all alone already also although an and are around as at because been before but by "
        "can could did do does during early either even evening for from had has have he her here his how i "
        "if in instead into is it its just last late later like me might morning my next night no not now of "
        "off on or our out over per she should since so some that the their them then there they this though "
        "through till to together today too under until us was we were what when where which while who why "
        "will with without would yet you your afternoon anyway both"
    ).split()
)
"""Words that may follow a date; another lower-case word after it makes the date a part of a name or a quantity."""
CONTRACTED = re.compile(r"['’](?:m|re|s|ve|d|ll)$")
NEXT_WORD = re.compile(r"\s+([a-z]+(?:['’][a-z]+)?)")


def read_month(word: str) -> int:
    """Give the number of a month, 1 to 12."""
    return MONTHS.index(word[:3].casefold()) + 1


def read_weekday(word: str) -> int:
    """Give the number of a weekday; Monday is 0."""
    return WEEKDAYS.index(word[:3].casefold())


def read_day(word: str) -> int:
    """Give the number of a day of the month, in digits or as an ordinal."""
    plain = "-".join(word.casefold().split())
    return ORDINALS[plain] if plain in ORDINALS else int(plain.rstrip("stndrh"))


def read_full_year(word: str) -> int:
    """Give the year that two or four digits mean."""
    digits = int(word.lstrip("'’"))
    if digits >= CENTURY:
        return digits
    return digits + (20 if digits < PIVOT else 19) * CENTURY


def read_amount(words: str) -> tuple[int, int]:
    """Give the least and the greatest number that is meant."""
    for word in words.casefold().split():
        if word in VAGUE_NUMBERS:
            return VAGUE_NUMBERS[word]
    number = int(words) if words.isdecimal() else NUMBERS[words.casefold()]
    return number, number


def read_unit(word: str) -> tuple[Unit, int]:
    """Give a unit of the calendar and how many of it the word means."""
    singular = word.casefold().rstrip("s")
    return ("week", 2) if singular == "fortnight" else (UNITS[singular], 1)


def read_which(words: str) -> Which:
    """Tell which of several occurrences the words choose."""
    return WHICHES[words.split()[-1].casefold()]


def names_something(text: str, end: int) -> bool:
    """Tell whether the word after `end` makes what stands before it part of a name or a quantity."""
    follower = NEXT_WORD.match(text, end)
    return follower is not None and CONTRACTED.sub("", follower.group(1)) not in FUNCTION_WORDS
