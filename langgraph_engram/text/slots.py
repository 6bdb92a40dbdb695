"""Read which attribute of a person a sentence sets, where people have one at a time: home, work, phone number, age.

"I moved to Porto" and "I live in Lisbon" set the same attribute to two values, though they share no word. The patterns
are English and careful: a wish, a plan, a condition, a question or a past that is over sets nothing.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from langgraph_engram.text.statements import CONTRACTED, is_question
from langgraph_engram.text.tokens import MONTHS_AND_DAYS, content_stems, words

CACHE_SIZE = 4096
RELATION = (
    r"(?:mother|mom|mum|father|dad|sister|brother|son|daughter|wife|husband|partner|girlfriend|boyfriend|friend|"
    r"cousin|aunt|uncle|niece|nephew|grandmother|grandma|grandfather|grandpa|boss|roommate|flatmate)"
)
NAME = r"[A-Z][\w&.'’-]*(?:\s+(?:of\s+|and\s+|&\s+)?[A-Z][\w&.'’-]*)*"
SUBJECT = (
    rf"(?P<subject>(?:[Mm]y|[Oo]ur)\s+(?:(?:older|younger|elder|little|big|best)\s+)?{RELATION}(?:\s+[A-Z][\w-]+)?|"
    rf"[A-Z][\w-]+(?:['’]s\s+{RELATION})?|\b[Ii]\b)"
)
LATELY = r"(?:\s+(?:now|currently|just|recently|finally|actually|still|officially))*"
HAVE = r"(?:['’]ve|\s+have|\s+has)?"
BEING = r"(?:['’]m|['’]s|\s+am|\s+is)"
THING = r"(?:an?|the)\s+[\w’'-]+(?:\s+[\w’'-]+){0,4}|[A-Z][\w&.’'-]*(?:\s+[\w&.’'-]+){0,4}"
NUMBER = r"(?:about\s+|around\s+)?[£$€]?\+?\d[\d.,: ()/-]*\d|\d"
ANYTHING = r"[^.;!?,]{2,60}"
POSSESSIONS: tuple[tuple[str, str, str], ...] = (
    ("phone number", r"(?:(?:mobile|cell|tele)?\s?phone|mobile|cell)(?:\s+number)?|number", NUMBER),
    ("address", r"(?:home\s+|postal\s+)?address", r"[\dA-Z][^.;!?]{4,60}"),
    ("e-mail", r"e-?mail(?:\s+address)?", r"[\w.+-]+@[\w.-]+\w"),
    ("age", r"age", r"\d{1,3}"),
    ("birthday", r"birthday", r"(?:on\s+)?(?:the\s+)?[\dA-Z][\w ]{3,20}"),
    ("work", r"employer", NAME),
    ("car", r"car", THING),
    *((head, head, NAME) for head in ("boss", "manager", "landlord", "doctor", "dentist", "therapist")),
    *((head, head, NUMBER) for head in ("salary", "rent", "weight", "height", "budget", "personal best")),
)
"""Attributes by what follows "my": name, pattern of the words, and pattern of the value."""
STATES: tuple[tuple[str, str], ...] = (
    (
        "home",
        rf"{SUBJECT}{HAVE}{LATELY}(?:\s+(?:live|lives|reside|resides|moved|relocated|settled)|"
        rf"{BEING}{LATELY}\s+(?:living|based))(?:\s+(?:back|over|down|up|here|from\s+{NAME}))*{LATELY}"
        rf"\s+(?:in|to|near)\s+(?:the\s+)?(?P<value>{NAME})",
    ),
    (
        "work",
        rf"{SUBJECT}{HAVE}{LATELY}(?:\s+(?:work|works|started|got\s+(?:an?|the|my)\s+(?:new\s+)?(?:job|position|role))|"
        rf"{BEING}{LATELY}\s+(?:working|employed))(?:\s+(?:working|an?\s+new\s+job|a\s+job|my\s+new\s+job))?{LATELY}"
        rf"\s+(?:at|for|with)\s+(?:the\s+)?(?P<value>{NAME})",
    ),
    ("car", rf"{SUBJECT}{LATELY}\s+drives?{LATELY}\s+(?:an?|the|my)\s+(?:\w+\s+)?(?P<value>[A-Z]{ANYTHING})"),
    ("age", rf"{SUBJECT}(?:{BEING}|(?:\s+just)?\s+turned)\s+(?P<value>\d{{1,3}})(?=\s+years?\s+old|\s*[.!,]|\s*$)"),
    (
        "relationship",
        rf"{SUBJECT}{BEING}{LATELY}\s+(?P<value>single|married|engaged|divorced|separated|widowed)\b(?!-)",
    ),
)
"""Attributes by a whole clause."""
FAVOURITE = r"favou?rite\s+(?P<kind>\w+(?:\s+\w+)?)"
CHANGED = r"(?:is|are|has\s+changed\s+to|changed\s+to|was\s+changed\s+to)(?:\s+now)?"
OWNER = r"(?P<subject>\b[Mm]y|[A-Z][\w-]+['’]s)"
EXPRESSIONS: tuple[tuple[str, str], ...] = (
    *STATES,
    *(
        (name, rf"{OWNER}\s+(?:(?:new|current)\s+)?(?:{head})\s+{CHANGED}\s+(?P<value>{value})")
        for name, head, value in POSSESSIONS
    ),
    ("favourite", rf"{OWNER}\s+(?:new\s+|current\s+)?{FAVOURITE}\s+{CHANGED}\s+(?P<value>{ANYTHING})"),
)
IMPLIED = {
    "home": "live home reside",
    "work": "work job employer company",
    "car": "drive car",
    "age": "old age",
    "relationship": "relationship status",
}
"""Words of a question about an attribute that a sentence setting it may lack: who moved to Porto lives there."""
UNSURE = re.compile(
    r"\b(?:if|would|could|might|may|should|wish|want|wants|hope|hoping|plan|plans|planning|thinking|dream|going to|"
    rf"will|used to|when|almost|nearly|never|not|before|until|imagine|says?|said|one of)\b|{CONTRACTED}|['’]ll\b",
    re.IGNORECASE,
)
"""Before the clause: it may not be so, or no longer."""
TEMPORARY = re.compile(
    r"\b(?:as a (?:kid|child|teen\w*|student)|when|growing up|back then|at the time|until|for (?:a|one|two|\d+) "
    r"(?:day|week|weekend|night)s?|in the (?:past|nineties|eighties))\b",
    re.IGNORECASE,
)
"""After the clause: it was so for a while."""
NOBODY = frozenset("he she they we you it this that there everyone everybody someone somebody people who what".split())
TRAILING = re.compile(r"(?:[.'’\s]|\bnow)+$")
EMPTY_VALUE = re.compile(r"^(?:not|so|very|too|also|always|still|that|to|when|because|what|how|being)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Slot:
    """An attribute of a person and the value that a sentence sets it to."""

    owner: str
    """Case-folded, as the value is: "ana", "ana's sister"."""
    name: str
    """The attribute: "home", "favourite colour"."""
    value: str

    @property
    def key(self) -> str:
        """Return what names an attribute of a person."""
        return f"{self.owner}: {self.name}"


@lru_cache(maxsize=CACHE_SIZE)
def slot_of(text: str, speaker: str) -> Slot | None:
    """Return the first attribute that a sentence sets, of its `speaker` or whom it names; None for none for certain."""
    if is_question(text):
        return None
    for name, pattern in _patterns():
        match = pattern.search(text)
        if match and _is_certain(text, match) and (slot := _read(name, match, speaker)):
            return slot
    return None


def expanded_stems(text: str, speaker: str) -> set[str]:
    """Return the content stems of a sentence, and those of questions about the attribute that it sets."""
    slot = slot_of(text, speaker)
    return {*content_stems(text), *(content_stems(IMPLIED.get(slot.name, "")) if slot else ())}


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return the compiled expressions: a search, which reads no slot, starts without them."""
    return [(name, re.compile(expression)) for name, expression in EXPRESSIONS]


def _is_certain(text: str, match: re.Match[str]) -> bool:
    return not UNSURE.search(text[: match.start()]) and not TEMPORARY.search(text[match.end() :])


def _read(name: str, match: re.Match[str], speaker: str) -> Slot | None:
    owner = _owner(match["subject"], speaker)
    value = TRAILING.sub("", " ".join(match["value"].casefold().split()))
    is_time = name in ("home", "work") and words(match["value"])[0] in MONTHS_AND_DAYS
    if not (owner and value) or is_time or EMPTY_VALUE.match(value):
        return None
    if name == "favourite":
        name = f"favourite {match['kind'].casefold().replace('color', 'colour')}"
    return Slot(owner, name, value)


def _owner(subject: str, speaker: str) -> str:
    """Return the owner: a relative by name, or as the speaker's; empty where nobody is named."""
    plain = re.sub(r"['’]s$", "", subject)
    folded = plain.casefold().replace("’", "'")
    if folded in ("i", "my"):
        return speaker.casefold()
    if folded.startswith(("my ", "our ")):
        last = plain.split()[-1]
        return last.casefold() if last[0].isupper() else f"{speaker.casefold()}'s {last.casefold()}"
    return "" if folded in NOBODY else folded
