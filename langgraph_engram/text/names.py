"""Find what looks like a proper name in English text: runs of capitalised words, acronyms, quoted titles.

There is no dictionary of names. A capital at the start of a sentence counts only where the same word stands with a
capital elsewhere too, or is followed by another capitalised word. This module does not know who takes part.
"""

import re
from collections.abc import Sequence

from langgraph_engram.text.tokens import STOP_WORDS

CAPITALISED = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\.\s+(?=[A-Z]))?[A-Z][\w&'’-]*"
"""A word with a capital; the point of a title before it ends no sentence."""
RUN = re.compile(rf"(?<![\w]){CAPITALISED}(?:\s+(?:(?:of|the|and|de|la|van|von|for)\s+)?{CAPITALISED})*")
QUOTED = re.compile(r"[\"“]([^\"“”]{2,60})[\"”]")
SENTENCE_STARTS = (*'.!?:;…"“([—', "--")
"""What a sentence may start after, white space between them; so does each line."""
NOT_NAMES = STOP_WORDS | frozenset(
    (
        "yes yeah yep nope ok okay hi hey hello thanks thank wow oh well sure sounds great good nice cool awesome "
        "glad sorry please bye congrats congratulations maybe absolutely definitely totally really actually haha "
        "lol omg ah aw aww hmm let got see take make keep just like even still since after before last next one "
        "first now then monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays "
        "fridays saturdays sundays january february march april may "
        "june july august september october november december im ive id ill dont cant its"
    ).split()
)


def proper_names(text: str) -> list[str]:
    """Return the names in `text`, in order, without repeats."""
    found = [match.group(1).strip() for match in QUOTED.finditer(text)]
    for match in RUN.finditer(text):
        found.extend(_names_of(text, match))
    return list(dict.fromkeys(found))


def starts_sentence(text: str, place: int) -> bool:
    """Return whether a sentence or a quotation may start at a place; the text before it is not read from its beginning."""
    end = place
    while end and text[end - 1].isspace():
        end -= 1
    return end == 0 or "\n" in text[end:place] or text.endswith(SENTENCE_STARTS, max(0, end - 2), end)


def _names_of(text: str, match: re.Match[str]) -> list[str]:
    words = [word for word in match.group().split() if word]
    at_start = starts_sentence(text, match.start())
    while words and (_plain(words[0]) in NOT_NAMES or (at_start and len(words) == 1 and not words[0].isupper())):
        words, at_start = words[1:], False
    while words and _plain(words[-1]) in NOT_NAMES:
        words = words[:-1]
    name = re.sub(r"['’]s$", "", " ".join(words))
    return [name] if len(name) > 1 else []


def _plain(word: str) -> str:
    return re.sub(r"['’].*$", "", word).casefold()


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
    """Return the numbers that stand in digits, each written plainly: no thousands mark, no empty decimals."""
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
    """Return the numbers that are spelled out: "twenty", "five" is 25 beside 20 and 5, "two", "hundred" is 200.

    Args:
        words: The words of a text, case-folded, in order.
    """
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
        elif word in OTHERS:
            found.extend([OTHERS[word], OTHERS[word] * max(part, 1)])
            whole, part = 0, 0
        elif word not in ("and", "a"):
            whole, part = 0, 0
    return list(dict.fromkeys(str(value) for value in found))
