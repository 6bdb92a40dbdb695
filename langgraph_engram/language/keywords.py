"""Read the words that carry a text's meaning, and a topic made of them, without a model."""

from langgraph_engram.language.names import proper_names
from langgraph_engram.language.small_talk import FUNCTION_WORDS, SMALL_TALK
from langgraph_engram.language.tokens import words

MAX_KEYWORDS = 6
TOPIC_WORDS = 3
"""Keywords that name the topic of one turn."""
LEAST_LETTERS = 3
"""Letters above which a word may be a keyword."""
NO_TOPIC = "small talk"


EMPTY_WORDS = SMALL_TALK | FUNCTION_WORDS


def keywords_of(text: str, most: int = MAX_KEYWORDS) -> list[str]:
    """Give the names of a text, then its longest content words, at most `most`, without repeats."""
    names = proper_names(text)
    in_names = {word for name in names for word in words(name)}
    rest = [
        word
        for word in dict.fromkeys(words(text))
        if word not in EMPTY_WORDS and word not in in_names and len(word) > LEAST_LETTERS
    ]
    return [*names, *sorted(rest, key=lambda word: (-len(word), word))][:most]


def topic_of(keywords: list[str], topic_before: str = "") -> str:
    """Name a topic by the first few keywords; without any, the topic before goes on."""
    return ", ".join(keywords[:TOPIC_WORDS]) or topic_before or NO_TOPIC
