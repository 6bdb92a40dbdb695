"""Give the beginning of a query that is too long to be read whole, and say how much of it is read."""

import re

MOST_CHARACTERS = 20_000
"""Characters of a query that are read."""
LONGEST_WORD = 100
"""Characters of a run without white space from which on it is no word, and may be cut."""
LAST_BREAK = re.compile(r"\s\S*\Z")


def beginning(query: str) -> str:
    """Give as much of a query as is read: all of it, or its beginning up to the end of a word."""
    if len(query) <= MOST_CHARACTERS:
        return query
    last = LAST_BREAK.search(query, MOST_CHARACTERS - LONGEST_WORD, MOST_CHARACTERS + 1)
    return query[: last.start() if last else MOST_CHARACTERS].rstrip()


def cut_note(query: str) -> list[str]:
    """Say how much of a query is read, where that is not all of it."""
    read = len(beginning(query))
    if read == len(query):
        return []
    return [f"only the first {read:,} of the question's {len(query):,} characters were read"]
