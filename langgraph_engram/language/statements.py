"""Say what kind of statement a text is: whose words, a question, about whom, a change. English, by its words alone.

This module does not know what is remembered of it.
"""

import re

from langgraph_engram.language.sentences import ends_asking

FIRST_PERSON = re.compile(
    r"\b(?:i|i['’](?:m|ve|d|ll)|im|ive|my|me|mine|myself|we|we['’](?:re|ve|d|ll)|our|ours|us)\b", re.IGNORECASE
)
PRONOUN = r"(?:i|we|he|she|it|they|you|there|that|this|these|those|my|our|his|her|their)"
"""Words that a clause opens with about somebody, in a pattern."""
SECOND_PERSON = re.compile(r"\b(?:you|you['’](?:re|ve|d|ll)|your|yours|yourself)\b", re.IGNORECASE)
SINGULAR = re.compile(r"\b(?:i|i['’](?:m|ve|d|ll)|im|ive|my|me|mine|myself)\b", re.IGNORECASE)
OTHERS = re.compile(
    r"\b(?:you|your|yours|yourself|we|us|our|ours|he|she|they|him|her|hers|them|his|their|theirs|everyone|everybody|both|"
    r"together)\b",
    re.IGNORECASE,
)
"""Words for others than the speaker alone."""
IMAGE = re.compile(r"\bshares? an image\b", re.IGNORECASE)
CHANGE = re.compile(
    r"\b(?:no longer|not any ?more|anymore|used to|instead of|changed(?=:)|changed (?:my|the|our|to)|"
    r"(?:has|have) changed|(?:is|are) now (?:on|at|in|called)|moved (?:it )?to|switched (?:from|to)|postponed|"
    r"rescheduled|cancell?ed|correction|i was wrong|actually it['’]?s|turns out it['’]?s|quit (?:my|the)|"
    r"(?:quit|stopped|gave up) \w+ing)\b",
    re.IGNORECASE,
)


def own_words(text: str, speaker: str) -> str:
    """Give what a speaker says in "Name: words", without the question before it; other text as it is."""
    mark = f"{speaker}: "
    start = text.rfind(mark) if speaker else -1
    return text[start + len(mark) :] if start >= 0 else text


def is_question(text: str) -> bool:
    """Say whether a text ends by asking."""
    return ends_asking(text.rstrip("\"'”’)] "))


def shows_image(text: str) -> bool:
    """Say whether a text describes an image that somebody shares."""
    return IMAGE.search(text) is not None


def speaks_of_self(text: str) -> bool:
    """Say whether a text speaks in the first person."""
    return FIRST_PERSON.search(text) is not None


def speaks_of_self_alone(text: str) -> bool:
    """Say whether a text tells of its speaker, and has no word for anybody else: it says nothing of whoever listens."""
    return SINGULAR.search(text) is not None and OTHERS.search(text) is None


def speaks_to_listener(text: str) -> bool:
    """Say whether a text speaks of whoever listens, and not of the speaker: praise, cheer, advice."""
    return SECOND_PERSON.search(text) is not None and not speaks_of_self(text)


def signals_change(text: str) -> bool:
    """Say whether a text says in so many words that something is no longer as it was."""
    return CHANGE.search(text) is not None
