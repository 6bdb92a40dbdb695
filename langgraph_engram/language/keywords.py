"""Choose the keywords of a text by its words alone: names first, then what is longest and says something."""

from langgraph_engram.language.names import proper_names
from langgraph_engram.language.small_talk import FUNCTION_WORDS, SMALL_TALK
from langgraph_engram.language.tokens import words

MAX_KEYWORDS = 6
LEAST_LETTERS = 3


def keywords_of(text: str, most: int = MAX_KEYWORDS) -> list[str]:
    """Give the names of a text, then its longest content words, at most `most`, without repeats."""
    names = proper_names(text)
    in_names = {word for name in names for word in words(name)}
    rest = [
        word
        for word in dict.fromkeys(words(text))
        if word not in SMALL_TALK | FUNCTION_WORDS and word not in in_names and len(word) > LEAST_LETTERS
    ]
    return [*names, *sorted(rest, key=lambda word: (-len(word), word))][:most]
