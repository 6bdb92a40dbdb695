"""Tell small talk from what is worth keeping, by its words alone."""

from collections.abc import Collection

from langgraph_engram.language.keywords import FUNCTION_WORDS, SMALL_TALK
from langgraph_engram.language.tokens import words

LEAST_NICKNAME = 2
"""Letters from which the beginning of a name counts as the name."""


def is_small_talk(sentence: str, people: Collection[str] = ()) -> bool:
    """Say whether a sentence holds nothing but greetings, thanks and cheers.

    Args:
        sentence: What was said.
        people: Who takes part; their names, or how these begin, add nothing to a greeting.
    """
    said = words(sentence)
    names = [word for name in people for word in words(name)]
    return not any(word.isdigit() for word in said) and all(
        word in SMALL_TALK or word in FUNCTION_WORDS or _calls(word, names) for word in said
    )


def _calls(word: str, names: Collection[str]) -> bool:
    return len(word) >= LEAST_NICKNAME and any(name.startswith(word) for name in names)
