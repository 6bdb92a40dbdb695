"""Find what looks like a proper name in English text: runs of capitalised words, acronyms, quoted titles.

A capital at the start of a sentence counts only where another capitalised word follows.
"""

import re

from langgraph_engram.text.tokens import MONTHS_AND_DAYS, STOP_WORDS

CAPITALISED = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\.\s+(?=[A-Z]))?[A-Z][\w&'’-]*"
"""A word with a capital; the point of a title before it ends no sentence."""
RUN = re.compile(rf"(?<![\w]){CAPITALISED}(?:\s+(?:(?:of|the|and|de|la|van|von|for)\s+)?{CAPITALISED})*")
QUOTED = re.compile(r"[\"“]([^\"“”]{2,60})[\"”]")
SENTENCE_STARTS = (*'.!?:;…"“([—', "--")
"""What a sentence may start after, white space between them; so does each line."""
NO_NAMES = (
    "absolutely actually after ah aw awesome aww before bye cant congrats congratulations cool definitely dont even "
    "first glad good got great haha hello hey hi hmm id ill im ive keep last let like lol make maybe next nice nope "
    "now oh ok okay omg one please really see since sorry sounds still sure take thank thanks then totally well wow "
    "yeah yep yes"
)
NOT_NAMES = STOP_WORDS | MONTHS_AND_DAYS | frozenset(NO_NAMES.split())


def proper_names(text: str) -> list[str]:
    """Return the names in `text`, in order, without repeats."""
    quoted = [match.group(1).strip() for match in QUOTED.finditer(text)]
    return list(dict.fromkeys([*quoted, *filter(None, (_name_in(text, match) for match in RUN.finditer(text)))]))


def starts_sentence(text: str, index: int) -> bool:
    """Return whether a sentence or a quotation may start at an index; only what stands right before it is read."""
    end = index
    while end and text[end - 1].isspace():
        end -= 1
    return end == 0 or "\n" in text[end:index] or text.endswith(SENTENCE_STARTS, max(0, end - 2), end)


def _name_in(text: str, match: re.Match[str]) -> str:
    words = match.group().split()
    at_start = starts_sentence(text, match.start())
    while words and (_plain(words[0]) in NOT_NAMES or (at_start and len(words) == 1 and not words[0].isupper())):
        words, at_start = words[1:], False
    while words and _plain(words[-1]) in NOT_NAMES:
        words = words[:-1]
    name = re.sub(r"['’]s$", "", " ".join(words))
    return name if len(name) > 1 else ""


def _plain(word: str) -> str:
    return re.sub(r"['’].*$", "", word).casefold()
