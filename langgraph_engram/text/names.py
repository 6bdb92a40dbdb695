"""Find what looks like a proper name in English text: runs of capitalised words, acronyms, quoted titles.

There is no dictionary of names. A capital at the start of a sentence counts only where another capitalised word
follows.
"""

import re

from langgraph_engram.text.tokens import STOP_WORDS

CAPITALISED = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\.\s+(?=[A-Z]))?[A-Z][\w&'’-]*"
"""A word with a capital; the point of a title before it ends no sentence."""
RUN = re.compile(rf"(?<![\w]){CAPITALISED}(?:\s+(?:(?:of|the|and|de|la|van|von|for)\s+)?{CAPITALISED})*")
QUOTED = re.compile(r"[\"“]([^\"“”]{2,60})[\"”]")
SENTENCE_STARTS = (*'.!?:;…"“([—', "--")
"""What a sentence may start after, white space between them; so does each line."""
NOT_NAMES = STOP_WORDS | frozenset(
    (
        "yes yeah yep nope ok okay hi hey hello thanks thank wow oh well sure sounds great good nice cool awesome "
        "glad sorry please bye congrats congratulations maybe absolutely definitely totally really actually haha "
        "lol omg ah aw aww hmm let got see take make keep just like even still since after before last next one "
        "first now then monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays "
        "fridays saturdays sundays january february march april may "
        "june july august september october november december im ive id ill dont cant its"
    ).split()
)


def proper_names(text: str) -> list[str]:
    """Return the names in `text`, in order, without repeats."""
    found = [match.group(1).strip() for match in QUOTED.finditer(text)]
    for match in RUN.finditer(text):
        found.extend(_names_of(text, match))
    return list(dict.fromkeys(found))


def starts_sentence(text: str, index: int) -> bool:
    """Return whether a sentence or a quotation may start at an index; only what stands right before it is read."""
    end = index
    while end and text[end - 1].isspace():
        end -= 1
    return end == 0 or "\n" in text[end:index] or text.endswith(SENTENCE_STARTS, max(0, end - 2), end)


def _names_of(text: str, match: re.Match[str]) -> list[str]:
    words = [word for word in match.group().split() if word]
    at_start = starts_sentence(text, match.start())
    while words and (_plain(words[0]) in NOT_NAMES or (at_start and len(words) == 1 and not words[0].isupper())):
        words, at_start = words[1:], False
    while words and _plain(words[-1]) in NOT_NAMES:
        words = words[:-1]
    name = re.sub(r"['’]s$", "", " ".join(words))
    return [name] if len(name) > 1 else []


def _plain(word: str) -> str:
    return re.sub(r"['’].*$", "", word).casefold()
