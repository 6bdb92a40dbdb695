"""Read numbers from text, in digits or spelled out in English, by their value."""

import re
from collections.abc import Sequence

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
SPELLED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
SMALL = {word: value for value, word in enumerate(SPELLED.split())}
TENS = {
    word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
MULTIPLES = {"once": 1, "twice": 2, "couple": 2, "pair": 2, "dozen": 12}
NUMBER_WORDS = frozenset([*SMALL, *TENS, *SCALES, *MULTIPLES])


def numbers_in(text: str) -> list[str]:
    """Return the numbers written in digits, normalised: no thousands separator, no empty decimals."""
    return [plain_number(number) for number in NUMBER.findall(text)]


def plain_number(number: str) -> str:
    """Normalise a number: "1,200.50" is "1200.5"; a date, a version or a code with leading zeros stays as it is."""
    plain = number.replace(",", "") if GROUPED.fullmatch(number) else number
    whole, point, rest = plain.partition(".")
    if not whole.isdigit() or (point and not rest.isdigit()):
        return plain
    decimals = rest.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def spelled_numbers(words: Sequence[str]) -> list[str]:
    """Return the numbers that case-folded words spell out, parts included: "twenty", "five" gives 20, 5 and 25."""
    found: list[int] = []
    whole, part = 0, 0
    for word in words:
        if word in SMALL or word in TENS:
            value = SMALL.get(word, TENS.get(word, 0))
            goes_on = value > 0 and (part % 100 == 0 or (part % 100 in TENS.values() and value < 10))
            part = part + value if goes_on else value
            found.extend([value, part, whole + part])
        elif word in SCALES:
            part = max(part, 1) * SCALES[word]
            found.append(whole + part)
            if word != "hundred":
                whole, part = whole + part, 0
        elif word in MULTIPLES:
            found.extend([MULTIPLES[word], MULTIPLES[word] * max(part, 1)])
            whole, part = 0, 0
        elif word not in ("and", "a"):
            whole, part = 0, 0
    return list(dict.fromkeys(str(value) for value in found))
