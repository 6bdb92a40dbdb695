"""Say which names that a query states nothing found mentions: of Korea a memory of Japan tells nothing.

Words have synonyms, and names hardly have any. The rule is careful: it looks at names after a preposition, in a choice
or behind a title ("in Korea", "or Korea", "Dr. Johnson"), and takes a short form, a nationality or initials for it.
"""

import re
from collections.abc import Collection, Iterator, Sequence, Set

from langgraph_engram.rules.coverage import ASKING_WORDS
from langgraph_engram.text.names import SMALL, TENS, numbers_in, proper_names, spelled_numbers
from langgraph_engram.text.questions import AMOUNTS, answer_type
from langgraph_engram.text.tokens import content_stems, words

LEADS_IN = re.compile(
    r"\b(?:in|at|from|with|to|for|of|by|near|about|on|or|and|than)\s+(?:(?:the|my|our|his|her|their|an?)\s+)?[\"“'‘]?$",
    re.IGNORECASE,
)
TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+")
DESCRIBES = re.compile(r"(?:an|ish|ese|ic)$")
"""How words end that describe more often than they name: "Italian food"."""
NOUN_FOLLOWS = re.compile(r"\s+[a-z]")
NUMBERED = re.compile(r"(?<![\w-])(?P<number>\d+)-(?P<unit>[a-z]+)\b")
"""A number that says which one is meant: "my 30-gallon tank"."""
TIME_UNIT = re.compile(r"(?:year|month|week|day|night|hour|minute)s?")
"""Units that stand beside many numbers, so that another one says little."""
MEASURED = re.compile(r"\b(?P<number>\w+)(?=[\s-](?P<unit>[a-z]+)\b)", re.IGNORECASE)
"""A word and the next one: a number and its unit, where the first is a number."""
JOINED = re.compile(
    r"\band\s+(?:(?:in|of|for|to|with|on|at)\s+)?(?:(?:the|my|our|his|her|their|an?)\s+)?"
    r"(?P<part>[\w’'-]+(?:\s+[\w’'-]+)?)",
    re.IGNORECASE,
)
"""The second of two things that a query joins: "for tomatoes and chili peppers"."""
LEAST_FORM = 3
"""Letters from which on one word may be a form of another that begins with it: "Mel" and "Melanie"."""


def names_unknown(query: str, said: Set[str]) -> list[str]:
    """Give the names in a query of which no word, form or initials are among the stems of what was found."""
    return [name for name in _stated(query) if not any(_is_said(stem, said) for stem in _stems(name))]


def measure_unknown(query: str, said: Set[str], texts: Sequence[str]) -> bool:
    """Say whether a query tells which one is meant by a number that nothing found has, or has of that unit.

    Of a 30-gallon tank memories of a 20-gallon one tell nothing; they may where no number of gallons is told at all.
    """
    return any(
        said.isdisjoint(_written(match["number"])) or _other_told(match["number"], match["unit"], texts)
        for match in NUMBERED.finditer(query)
    )


def part_unknown(query: str, said: Set[str]) -> bool:
    """Say whether of two things that a query counts together the second is not among the stems of what was found."""
    if answer_type(query) not in AMOUNTS:
        return False
    return any(not any(_is_said(stem, said) for stem in content_stems(part)) for part in _joined(query))


def _stated(query: str) -> Iterator[str]:
    for name in proper_names(query):
        start = query.find(name)
        describes = DESCRIBES.search(name) and NOUN_FOLLOWS.match(query, start + len(name))
        stands_for_one = TITLE.match(name) or LEADS_IN.search(query, 0, start)
        if name[0].isupper() and not name.isupper() and not describes and stands_for_one:
            yield name


def _joined(query: str) -> Iterator[str]:
    parts = (match.group("part") for match in JOINED.finditer(query))
    return (part for part in parts if set(content_stems(part)) - ASKING_WORDS)


def _other_told(number: str, unit: str, texts: Sequence[str]) -> bool:
    """Say whether texts tell other numbers of a unit, and not this one."""
    if TIME_UNIT.fullmatch(unit):
        return False
    stems = content_stems(unit)
    measured = [match for text in texts for match in MEASURED.finditer(text) if content_stems(match["unit"]) == stems]
    told = {value for match in measured for value in _values(match["number"])}
    return bool(told) and number not in told


def _values(word: str) -> list[str]:
    """Give the numbers, in digits, that a word is; none where it is no number."""
    return numbers_in(word) or spelled_numbers([word.casefold()])


def _stems(name: str) -> list[str]:
    bare = TITLE.sub("", name)
    initials = "".join(word[0] for word in words(bare))
    return [*content_stems(bare), *([initials] if len(initials) >= LEAST_FORM else [])] or [initials]


def _written(number: str) -> list[str]:
    """Give a number in digits and, where it is one word, in letters, as stems."""
    spelled = [word for word, value in (SMALL | TENS).items() if str(value) == number]
    return [number, *content_stems(" ".join(spelled))]


def _is_said(stem: str, said: Collection[str]) -> bool:
    return stem in said or any(
        min(len(stem), len(one)) >= LEAST_FORM and (one.startswith(stem) or stem.startswith(one)) for one in said
    )
