"""Choose the words of a text that are read, given how likely each is to be needed (LLMLingua-2, arXiv 2403.12968).

Some words stay whatever a model thinks of them, because a sentence without them is another fact or none: numbers,
dates, names, words that deny, and the mark of a question. This module does not know where probabilities come from.
"""

import re
from collections.abc import Sequence
from math import ceil

from langgraph_engram.language.time_words import FULL_WEEKDAY, MONTH, NUMBERS, ORDINALS
from langgraph_engram.language.tokens import STOP_WORDS
from langgraph_engram.language.tokens import words as plain_words

NUMBER_WORDS = frozenset(NUMBERS) - frozenset("a an another".split()) | frozenset(
    "zero half dozen once twice seventy eighty ninety thousand million billion".split()
)
DATE_NAME = re.compile(rf"{FULL_WEEKDAY}|{MONTH}", re.IGNORECASE)
DENIALS = frozenset(
    "no not never nobody nothing nowhere none neither nor without cannot hardly dont didnt doesnt isnt wasnt wont "
    "cant couldnt".split()
)
CONTRACTED_DENIALS = ("n't", "n’t")
OPENERS = STOP_WORDS - {"will"}
"""Words whose capital at the start of a text is no name's."""
OPENING, CLOSING = "([", ")]"


def shorten(text: str, probabilities: Sequence[float], rate: float) -> str:
    """Leave out the words of a text that are least likely to be needed.

    Args:
        text: Words between white space.
        probabilities: Of each word, in [0, 1], in order, that it is to be kept.
        rate: Share of words to keep, in (0, 1]; more are kept where more must be.

    Returns:
        The words kept, in order, a space between them; the text itself where they would say nothing.
    """
    words = text.split()
    kept = " ".join(words[place] for place in kept_places(words, probabilities, rate))
    return kept if any(letter.isalnum() for letter in kept) else text


def kept_places(words: Sequence[str], probabilities: Sequence[float], rate: float) -> list[int]:
    """Give the places of the words above the (1 - rate) quantile of probability, in order.

    Words that must stay count as certain, and where they alone are more than the share, they are what is kept. Of words
    that are equally likely the earlier are kept.
    """
    if len(words) != len(probabilities):
        raise ValueError(f"{len(words)} words have {len(probabilities)} probabilities: give one each")
    certain = must_stay(words)
    likeliest = sorted(range(len(words)), key=lambda place: (not certain[place], -probabilities[place], place))
    return sorted(likeliest[: max(ceil(rate * len(words)), sum(certain))])


def must_stay(words: Sequence[str]) -> list[bool]:
    """Say of each word of a text whether it stays in any case."""
    dated = _in_numbered_brackets(words)
    return [_tells(word, place == 0) or place in dated for place, word in enumerate(words)]


def _tells(word: str, opens: bool) -> bool:
    parts = plain_words(word)
    return (
        any(letter.isdigit() for letter in word)
        or any(part in NUMBER_WORDS or part in ORDINALS or part in DENIALS for part in parts)
        or any(DATE_NAME.fullmatch(part) for part in parts)
        or any(ending in word.casefold() for ending in CONTRACTED_DENIALS)
        or "?" in word
        or _is_name(word, parts, opens)
    )


def _is_name(word: str, parts: Sequence[str], opens: bool) -> bool:
    """Say whether a word has a capital that neither the start of a text nor "I" accounts for."""
    if not any(letter.isupper() for letter in word) or parts[:1] == ["i"]:
        return False
    acronym = word.isupper() and sum(letter.isalpha() for letter in word) > 1
    return acronym or not opens or not OPENERS.issuperset(parts)


def _in_numbered_brackets(words: Sequence[str]) -> set[int]:
    """Give the places of words in brackets that hold a number: a time written out stays whole."""
    found: set[int] = set()
    begun: int | None = None
    for place, word in enumerate(words):
        if begun is None and any(bracket in word for bracket in OPENING):
            begun = place
        if begun is not None and any(bracket in word for bracket in CLOSING):
            inside = range(begun, place + 1)
            found.update(inside if any(letter.isdigit() for one in inside for letter in words[one]) else ())
            begun = None
    return found
