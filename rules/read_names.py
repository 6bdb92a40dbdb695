"""Read the name of a person, a place or a work off a sentence, none that the query names itself.

There is no list of names: capitals, quotes, kin terms and prepositions show them. This module does not know which
sentence is right.
"""

import re
from collections.abc import Iterator, Sequence, Set

from langgraph_engram.language.dimensions import MONTHS_AND_DAYS
from langgraph_engram.language.names import NOT_NAMES, QUOTED, proper_names
from langgraph_engram.language.tokens import WORD, content_stems

KIN = (
    r"(?:m[uo]m|mother|dad|father|parents?|sisters?|brothers?|siblings?|sons?|daughters?|kids?|child(?:ren)?|wife|"
    r"husband|partner|boyfriend|girlfriend|fianc[eé]e?|grand(?:ma|pa|mother|father|parents)|aunt|uncle|cousins?|"
    r"nieces?|nephews?|friends?|mentors?|family|fam|neighbou?rs?|colleagues?|coworkers?|teammates?|coach|boss|teacher)"
)
RELATIVE = re.compile(rf"\b(?:(?:my|our|an?|the|his|her|their)\s+)?(?:\w+\s+)?{KIN}\b", re.IGNORECASE)
BY_KINSHIP = re.compile(
    rf"\b(?P<kin>(?:my|our|his|her|their)\s+(?:\w+\s+)?{KIN}),?\s+(?-i:(?P<name>[A-Z][\w’-]*))", re.IGNORECASE
)
"""Who somebody is to whom: "my sister Runa"."""
GONE_TO = r"to\s+(?=(?:the|an?|my|our|this|that|his|her|their|school|college|church|work|town|bed)\b)"
"""Before a place; before a deed "to" has no article."""
LEADS = rf"\b(?:{GONE_TO}|(?:in|at|from|near|around|outside|inside|into|through)\s+)"
PROPER_PLACE = re.compile(
    r"\b(?:in|on|at|to|from|near|around|of|visit(?:ed|ing)?|tour(?:ed|ing)?|explor(?:e|ed|ing)|reach(?:ed)?|left|,)\s+"
    r"(?:the\s+)?((?!I\b)(?:[A-Z][\w'’.-]*)(?:(?:,?\s+|\s+of\s+(?:the\s+)?)(?!I\b)[A-Z][\w'’.-]*)*)"
)
COMMON_PLACE = re.compile(
    rf"{LEADS}((?:(?:the|an?|my|our|this)\s+)?(?:[\w'’&-]+\s*){{1,4}}?)"
    r"(?=$|[.,!?;:–—-]|\s(?:and|with|for|last|this|next|to|in|at|on|where|when|because|so|but|which|that|is|was|were|"
    r"are|i|we|it)\b)",
    re.IGNORECASE,
)
SUBJECT = re.compile(r"^\W*([A-Z][\w&'’-]*(?<!ing))\s+(?:is|was|has\s+been)\s+(?P<said>[^.;!?]*)")
"""What a sentence says something of: "Brooks has been my favourite brand"."""
TITLE = re.compile(r"[\"“]([^\"“”]{2,60})[\"”](?:\s+by\s+[A-Z]\w+(?:\s+[A-Z]\w+)*)?")


def read_place(text: str, asked: Set[str]) -> str:
    """Give where something is, a proper name before a common one; empty for none.

    Args:
        text: A sentence.
        asked: Stems of the query; a place made of them alone is no answer.
    """
    places = (match.group(1) for pattern in (PROPER_PLACE, COMMON_PLACE) for match in pattern.finditer(text))
    return next((place for place in places if _is_new(place, asked) and not _is_time(place)), "")


def read_person(text: str, asked: Set[str]) -> str:
    """Give who is named, else who is told by kinship or company; empty for none. Arguments as for `read_place`.

    Of somebody whom the query names, what they are to the speaker: "my sister" for "Who is Runa?".
    """
    for match in BY_KINSHIP.finditer(text):
        if not _is_new(match.group("name"), asked) and _is_new(match.group("kin"), asked):
            return match.group("kin")
    names = [name for name in proper_names(QUOTED.sub(" ", text)) if _is_new(name, asked)]
    relative = RELATIVE.search(text)
    return names[0] if names else relative.group() if relative else ""


def read_name(text: str, asked: Set[str]) -> str:
    """Give a quoted title with who made it, else the name that stands nearest to what is asked for; empty for none.

    Of "I live in Lisbon with my cat Miso", what a cat is called is Miso. Arguments as for `read_place`.
    """
    titles = [match.group().replace('"', "").strip("“”") for match in TITLE.finditer(text)]
    names = [*titles, *_nearest_first(proper_names(text), text, asked), *_subject(text, asked)]
    name = next((name for name in names if _is_new(name, asked)), "")
    article = re.search(rf"\bthe\s+{re.escape(name)}", text, re.IGNORECASE) if name else None
    return article.group() if article else name


def _subject(text: str, asked: Set[str]) -> Iterator[str]:
    """Give the one capitalised word that a sentence begins with and of which it says what is asked for."""
    match = SUBJECT.search(text)
    if match and match.group(1).casefold() not in NOT_NAMES and not asked.isdisjoint(content_stems(match["said"])):
        yield match.group(1)


def _nearest_first(names: Sequence[str], text: str, asked: Set[str]) -> list[str]:
    """Order names by how far they stand from a word that the query says, in characters; as they are without any."""
    said = [match.start() for match in WORD.finditer(text) if not asked.isdisjoint(content_stems(match.group()))]
    return sorted(names, key=lambda name: min((abs(text.find(name) - place) for place in said), default=0))


def _is_time(place: str) -> bool:
    return place.split()[0].strip(".'’,").casefold() in MONTHS_AND_DAYS


def _is_new(name: str, asked: Set[str]) -> bool:
    return bool(set(content_stems(name)) - asked)
