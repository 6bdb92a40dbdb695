"""Read the name of a person, a thing or a work off a sentence, none that the query names itself.

There is no list of names: capitals, quotes and kin terms show them. This module does not know which
sentence is right.
"""

import re
from collections.abc import Iterator, Set

from langgraph_engram.rules.nearest import nearest_first
from langgraph_engram.text.names import NOT_NAMES, QUOTED, proper_names
from langgraph_engram.text.tokens import STOP_WORDS, content_stems

KIN = (
    r"(?:m[uo]m|mother|dad|father|parents?|sisters?|brothers?|siblings?|sons?|daughters?|kids?|child(?:ren)?|wife|"
    r"husband|partner|boyfriend|girlfriend|fianc[eé]e?|grand(?:ma|pa|mother|father|parents)|aunt|uncle|cousins?|"
    r"nieces?|nephews?|friends?|mentors?|family|fam|neighbou?rs?|colleagues?|coworkers?|teammates?|coach|boss|teacher)"
)
RELATIVE = re.compile(rf"\b(?:(?:my|our|an?|the|his|her|their)\s+)?(?:\w+\s+)?{KIN}\b", re.IGNORECASE)
BELONGING = re.compile(
    r"\b(?P<what>(?:my|our|his|her|their)\s+(?:\w+\s+)?[a-z]+),?\s+(?-i:(?P<name>[A-Z][\w’-]*))", re.IGNORECASE
)
"""Who somebody is to whom, animals too: "my sister Runa"."""
NAME = r"(?-i:\b(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+)?[A-Z][\w’-]{0,40}(?:\s+(?!I\b)[A-Z][\w’-]{0,40}){0,4})"
"""A run of up to five capitalised words, with a title before them."""
AT_PLACE = re.compile(
    r"\b(?:in|on|at|near|around|through|into|towards?|"
    r"(?:mov(?:e|ed|ing)|go(?:ing)?|went|gone|been|back|trips?|travel(?:l?ed|l?ing)?|fl(?:y|ew|own|ying)|"
    r"dr(?:ive|ove|iven|iving)|return(?:ed|ing)?)\s+to)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
"""What stands before the name of a place."""
SUBJECT = re.compile(r"^\W*([A-Z][\w&'’-]*(?<!ing))\s+(?:is|was|has\s+been)\s+(?P<said>[^.;!?]*)")
"""What a sentence says something of: "Brooks has been my favourite brand"."""
TITLE = re.compile(r"[\"“]([^\"“”]{2,60})[\"”](?:\s+by\s+[A-Z]\w+(?:\s+[A-Z]\w+)*)?")


def read_person(text: str, asked: Set[str]) -> str:
    """Give who is named, else who is told by kinship or company; empty for none.

    Of somebody whom the query names, what they are to the speaker: "my sister" for "Who is Runa?".

    Args:
        text: A sentence.
        asked: Stems of the query; a name made of them alone is no answer.
    """
    for match in BELONGING.finditer(text):
        noun = match["what"].split()[-1].casefold()
        if noun not in STOP_WORDS and not is_new(match["name"], asked) and is_new(match["what"], asked):
            return match["what"]
    plain = QUOTED.sub(" ", text)
    named = (name for name in proper_names(plain) if is_new(name, asked))
    names = [name for name in named if not AT_PLACE.search(plain[: plain.find(name)])]
    relative = RELATIVE.search(text)
    return names[0] if names else relative.group() if relative else ""


def read_name(text: str, asked: Set[str]) -> str:
    """Give a quoted title with who made it, else the name that stands nearest to what is asked for; empty for none.

    Of "I live in Lisbon with my cat Miso", what a cat is called is Miso. Arguments as for `read_person`.
    """

    def place_of(name: str) -> tuple[int, int]:
        start = text.find(name)
        return start, start + len(name)

    titles = [match.group().replace('"', "").strip("“”") for match in TITLE.finditer(text)]
    names = [*titles, *nearest_first(proper_names(text), place_of, text, asked), *_subject(text, asked)]
    name = next((name for name in names if is_new(name, asked)), "")
    article = re.search(rf"\bthe\s+{re.escape(name)}", text, re.IGNORECASE) if name else None
    return article.group() if article else name


def _subject(text: str, asked: Set[str]) -> Iterator[str]:
    """Give the one capitalised word that a sentence begins with and of which it says what is asked for."""
    match = SUBJECT.search(text)
    if match and match.group(1).casefold() not in NOT_NAMES and not asked.isdisjoint(content_stems(match["said"])):
        yield match.group(1)


def is_new(name: str, asked: Set[str]) -> bool:
    """Say whether a name says more than the query does."""
    return bool(set(content_stems(name)) - asked)
