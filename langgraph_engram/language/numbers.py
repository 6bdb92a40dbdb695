"""Read the numbers of English text by their value: "1,200" and "1200", "thirty" and "30", "twice" and "2" are one.

This module does not know what is counted.
"""

import re
from collections.abc import Sequence

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
SMALL = {
    word: value
    for value, word in enumerate(
        (
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen"
        ).split()
    )
}
TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
OTHERS = {"once": 1, "twice": 2, "couple": 2, "pair": 2, "dozen": 12}


def numbers_in(text: str) -> list[str]:
    """Give the numbers that stand in digits, each written plainly: no thousands mark, no empty decimals."""
    return [plain_number(one) for one in NUMBER.findall(text)]


def plain_number(number: str) -> str:
    """Write a number plainly: "1,200.50" is "1200.5"; a date, a version or a code with leading zeros stays as it is."""
    plain = number.replace(",", "") if GROUPED.fullmatch(number) else number
    whole, mark, rest = plain.partition(".")
    if not whole.isdigit() or (mark and not rest.isdigit()):
        return plain
    decimals = rest.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def spelled_numbers(words: Sequence[str]) -> list[str]:
    """Give the numbers that are spelled out: "twenty", "five" is 25 beside 20 and 5, "two", "hundred" is 200.

    Args:
        words: The words of a text, case-folded, in order.
    """
    found: list[int] = []
    whole, part = 0, 0
    for word in words:
        if word in SMALL or word in TENS:
            value = SMALL.get(word, TENS.get(word, 0))
            part = part + value if part % 100 in TENS.values() and 0 < value < 10 else value
            found.extend([value, part, whole + part])
        elif word in SCALES:
            whole, part = whole + max(part, 1) * SCALES[word], 0
            found.append(whole)
        elif word in OTHERS:
            found.extend([OTHERS[word], OTHERS[word] * max(part, 1)])
            whole, part = 0, 0
        elif word not in ("and", "a"):
            whole, part = 0, 0
    return list(dict.fromkeys(str(value) for value in found))
