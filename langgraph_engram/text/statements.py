"""Read an English statement by its words: of whom it speaks, what it negates, its type, place, reason and purpose.

Also which attribute of a person it sets, where people have one at a time: home, work, phone number, age, the version
of what they use. "I moved to Porto" and "I live in Lisbon" set the same attribute to two values, though they share no
word. These patterns are careful: a wish, a plan, a condition, a question or a past that is over sets nothing.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from itertools import pairwise

from langgraph_engram.schema import MemoryType, Record
from langgraph_engram.temporal.find import NO_CLOCK, find_times
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.words import MONTHS_AND_DAYS, PAST_FORMS, STOP_WORDS, content_stems, plain_number, words

FIRST_PERSON = re.compile(
    r"\b(?:i|i['’](?:m|ve|d|ll)|im|ive|my|me|mine|myself|we|we['’](?:re|ve|d|ll)|our|ours|us)\b", re.IGNORECASE
)
PRONOUN = r"(?:i|we|he|she|it|they|you|there|that|this|these|those|my|our|his|her|their)"
"""Words that open a clause about somebody."""
SECOND_PERSON = re.compile(r"\b(?:you|you['’](?:re|ve|d|ll)|your|yours|yourself)\b", re.IGNORECASE)
OWN_THING = re.compile(r"\b(?:my|mine|our|I(?:['’](?:m|ve)| am| have| was| had| just| got| bought))\b")
IMAGE = re.compile(r"\bshares? an image\b", re.IGNORECASE)
CHANGE = re.compile(
    r"\b(?:no longer|not any ?more|anymore|used to|instead of|changed(?=:)|changed (?:my|the|our|to)|"
    r"(?:has|have) changed|(?:is|are) now (?:on|at|in|called)|moved (?:it )?to|switched (?:from|to)|upgraded to|"
    r"postponed|rescheduled|cancell?ed|correction|i was wrong|actually it['’]?s|turns out it['’]?s|quit (?:my|the)|"
    r"(?:quit|stopped|gave up) \w+ing)\b",
    re.IGNORECASE,
)
PAST_VERB = rf"(?:\w+ed|{'|'.join(sorted(PAST_FORMS))})"
NEXT_CLAUSE = re.compile(
    rf"[,;:]\s+|[–—]\s*|(?<!\s)\s+(?:[–—-]+\s+|[–—]\s*|(?=(?:but|although|though|however|because|since|instead)\b)|"
    rf"(?=so\s+{PRONOUN}\b)|(?=and\s+(?:{PRONOUN}(?:['’]\w+)?|{PAST_VERB})\s))",
    re.IGNORECASE,
)
"""Where one clause ends and the next begins, or an item of a list."""
IDIOM_VERBS = (
    r"know|think|thought|believe|realize|realise|worry|worried|forget|forgot|forgotten|mind|want|have to|need|miss|"
    r"remember|expect|imagine|only|just|even|sure|wait|tell|say|mention|help|complain|thank|get\s+enough"
)
CONTRACTED = r"\b(?:do|does|did|have|has|had|is|are|was|were|ca|could|wo|would|should|must|need|ai)n['’]?t\b"
"""With its apostrophe or without: "don't", "dont"."""
NEGATION = re.compile(
    rf"(?:(?:\b(?:do|does|did|have|has|had|am|is|are|was|were)|['’](?:m|re|s))\s+not|\bnever(?!\s+(?:again|mind|ending)\b)|"
    rf"\b(?:do|does|did|have|has|had|is|are|was|were|ca|wo)n['’]?t)\b(?!\s+(?:{IDIOM_VERBS})\b)|\bno\s+longer\b|"
    r"\b(?:stopped|quit|gave\s+up|given\s+up)\s+\w+ing\b",
    re.IGNORECASE,
)
COMPARES = re.compile(r"\b(?:so|more|such|better|happier|as)\b", re.IGNORECASE)
"""After a negation: it praises or compares ("never so happy")."""
CLAUSE_WORDS = re.compile(rf"\b(?:{PRONOUN}|is|are|was|were|am|has|have|had)\b|['’](?:s|m|re|ve|ll|d)\b", re.IGNORECASE)
"""Words of a clause that no item of a list holds."""
MAX_ITEM_WORDS = 4
PROFILE = re.compile(
    r"\b(?:love[sd]?|likes?|enjoys?|prefers?|hates?|dislikes?|adores?|favou?rites?|always|usually|never|often|allergic|"
    r"vegan|vegetarian|passion(?:ate)?|fan of|into|dream(?:s|ing)? of|afraid of|good at|works? as|i(?:'m| am) an?)\b",
    re.IGNORECASE,
)
EPISODIC = re.compile(
    r"\b(?:went|visited|met|saw|bought|got|made|took|started|finished|moved|joined|attended|won|lost|ran|played|tried|"
    r"signed up|celebrated|had|gave|found|passed|adopted|planning|going to|will|gonna|plan to|about to)\b",
    re.IGNORECASE,
)
TIMES_OF_YEAR = MONTHS_AND_DAYS | frozenset("christmas easter halloween thanksgiving".split())
LOCATION = re.compile(
    r"\b(?P<preposition>in|on|at|to|from|near|around|outside|inside|through)\s+(?:the\s+)?"
    r"(?P<place>(?!I\b)[A-Z][\w'’-]*(?:\s+(?!I\b)[A-Z][\w'’-]*)*)"
    rf"(?P<rest>\s+(?:on|upon|of)\s+(?:the\s+)?(?!(?i:{'|'.join(sorted(TIMES_OF_YEAR))})\b)[A-Z])?"
)
"""A name after a preposition; with `rest`, what may be only the beginning of a name: "Bradford on Avon"."""
REASON = re.compile(r"\b(?:because(?!\s+of\b)|due to|thanks to|'cause|cuz)\s+(?=\w+\s)([^.;!?]{8,160})", re.IGNORECASE)
"""Not "since" and "as", which are of time and of roles more often than not."""
PURPOSE = re.compile(
    r"\b(?:in order to|so that|so as to|to help|for the sake of|aiming to|hoping to)\s+([^.;!?]{4,160})", re.I
)
RELATION = (
    r"(?:mother|mom|mum|father|dad|sister|brother|son|daughter|wife|husband|partner|girlfriend|boyfriend|friend|"
    r"cousin|aunt|uncle|niece|nephew|grandmother|grandma|grandfather|grandpa|boss|roommate|flatmate)"
)
NAME = r"[A-Z][\w&.'’-]*(?:\s+(?:of\s+|and\s+|&\s+)?[A-Z][\w&.'’-]*)*"
SUBJECT = (
    rf"(?P<subject>(?:[Mm]y|[Oo]ur)\s+(?:(?:older|younger|elder|little|big|best)\s+)?{RELATION}(?:\s+[A-Z][\w-]+)?|"
    rf"(?<![\w-])[A-Z][\w-]+(?:['’]s\s+{RELATION})?|\b[Ii]\b)"
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
STATES = {
    "home": rf"{HAVE}{LATELY}(?:\s+(?:live|lives|reside|resides|moved|relocated|settled)|"
    rf"{BEING}{LATELY}\s+(?:living|based))(?:\s+(?:back|over|down|up|here|from\s+{NAME}))*{LATELY}"
    rf"\s+(?:in|to|near)\s+(?:the\s+)?(?P<value>{NAME})",
    "work": rf"{HAVE}{LATELY}(?:\s+(?:work|works|started|got\s+(?:an?|the|my)\s+(?:new\s+)?(?:job|position|role))|"
    rf"{BEING}{LATELY}\s+(?:working|employed))(?:\s+(?:working|an?\s+new\s+job|a\s+job|my\s+new\s+job))?{LATELY}"
    rf"\s+(?:at|for|with)\s+(?:the\s+)?(?P<value>{NAME})",
    "car": rf"{LATELY}\s+drives?{LATELY}\s+(?:an?|the|my)\s+(?:\w+\s+)?(?P<value>[A-Z]{ANYTHING})",
    "age": rf"(?:{BEING}|(?:\s+just)?\s+turned)\s+(?P<value>\d{{1,3}})(?=\s+years?\s+old|\s*[.!,]|\s*$)",
    "relationship": rf"{BEING}{LATELY}\s+(?P<value>single|married|engaged|divorced|separated|widowed)\b(?!-)",
}
"""Attributes by what follows the person."""
USE_VERSION = (
    rf"(?P<subject>\b(?:I|[Ww]e))(?:{HAVE}{LATELY}\s+(?:run|use|(?:upgraded|updated|migrated|moved|switched)\s+"
    rf"(?:from\s+[\w.]+\s+(?:[\d.]+\s+)?)?to)|(?:['’](?:m|re)|\s+am|\s+are){LATELY}\s+(?:on|running|using))"
    r"\s+(?P<kind>[^\W\d][\w+#.-]*(?:\s+[A-Z][\w+#.-]*)?)\s+(?:version\s+|[vV])?(?P<value>\d+(?:\.\d+)*)"
    r"(?P<where>\s+(?:in|on|for|at)\s+(?:(?:the|our|my)\s+)?[^\W\d]\w*)?"
    r"(?=[.,;:!)](?:\s|$)|\s*(?:[(–—]|$)|\s+(?:now|today|yesterday|last|this|here|everywhere|since|because|so|but)\b)"
)
"""A named thing with a number that somebody uses or has moved to, and where; no number of something else."""
COUNTED = (
    "version page chapter day week month year episode season level step stage round gate room floor line route bus "
    "lane track unit apartment flat building lap size around about only like maybe nearly almost roughly till past"
)
NOT_VERSIONED = STOP_WORDS | MONTHS_AND_DAYS | frozenset(COUNTED.split())
"""Words before a number that is no version."""
MOVED = rf"{HAVE}(?:\s+(?:been|was|were|is|are|got))?{LATELY}\s+{PAST_VERB}(?:\s+\w+)?\s+to"
"""What goes to a day, a price or a version has it from then on, by whatever verb; people go to 5 concerts."""
MEASURE = (
    rf"(?P<subject>\b(?:I|[Ww]e|[Mm]y|[Oo]ur|[Tt]he))(?P<kind>(?:\s+(?!(?:{PAST_VERB}|was|were|had|did|been)\b)"
    rf"[^\W\d][\w’'-]*){{1,4}}?)(?P<moved>{MOVED})?\s+"
    r"(?P<value>[£$€]?\d[\d.,]*\d|[£$€]?\d|[A-Z][\w+#-]*(?:\s[A-Z][\w+#-]*)?\s\d+(?:\.\d+)*)"
    r"(?P<unit>(?<=\d)\s?(?:%|[^\W\d])[^.,;:!?(\d]{0,60}|)(?=\s?[.,;:!?(]|$)"
)
"""An amount of a unit that is so at present: "our budget is 5000 euros"; or what a thing is, by a name and a number."""
OWNER = r"(?P<subject>\b[Mm]y|(?<![\w-])[A-Z][\w-]+['’]s)"
CHANGED = r"(?:is|are|has\s+changed\s+to|changed\s+to|was\s+changed\s+to)(?:\s+now)?"
EXPRESSIONS: tuple[tuple[str, str], ...] = (
    *((name, f"{SUBJECT}{clause}") for name, clause in STATES.items()),
    ("version", USE_VERSION),
    *(
        (name, rf"{OWNER}\s+(?:(?:new|current)\s+)?(?:{head})\s+{CHANGED}\s+(?P<value>{value})")
        for name, head, value in (*POSSESSIONS, ("favourite", r"favou?rite\s+(?P<kind>\w+(?:\s+\w+)?)", ANYTHING))
    ),
    ("measure", MEASURE),
)
IMPLIED = {
    "home": "live home reside", "work": "work job employer company", "car": "drive car", "age": "old age",
    "relationship": "relationship status",
}  # fmt: skip
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


def own_words(text: str, speaker: str) -> str:
    """Return what a speaker says in "Name: words", without the question before it; other text as it is."""
    mark = f"{speaker}: "
    start = text.rfind(mark) if speaker else -1
    return text[start + len(mark) :] if start >= 0 else text


def is_question(text: str) -> bool:
    """Return whether a text ends by asking."""
    return ends_asking(text.rstrip("\"'”’)] "))


def shows_image(text: str) -> bool:
    """Return whether a text describes an image that somebody shares."""
    return IMAGE.search(text) is not None


def speaks_of_self(text: str) -> bool:
    """Return whether a text speaks in the first person."""
    return FIRST_PERSON.search(text) is not None


def speaks_to_listener(text: str) -> bool:
    """Return whether a text speaks of the listener, and not of the speaker: praise, cheer, advice."""
    return SECOND_PERSON.search(text) is not None and not speaks_of_self(text)


def mentions_speaker(text: str) -> bool:
    """Return whether a text, a question too, mentions something of its speaker's own: "a strap for my camera"."""
    return OWN_THING.search(text) is not None


def affirmed(text: str) -> str:
    """Return a sentence, unless it asks, without the clauses that are negated, and the items of a list after them."""
    if is_question(text) or not NEGATION.search(text):
        return text
    ends = [0, *(match.end() for match in NEXT_CLAUSE.finditer(text)), len(text)]
    kept: list[str] = []
    negated = False
    for start, end in pairwise(ends):
        clause = text[start:end]
        negation = NEGATION.search(clause)
        is_item = len(clause.split()) <= MAX_ITEM_WORDS and not CLAUSE_WORDS.search(clause)
        negated = (negated and is_item) or (negation is not None and not COMPARES.search(clause, negation.end()))
        if not negated:
            kept.append(clause)
    return "".join(kept).strip()


def type_of(sentence: str, clock: datetime | None) -> MemoryType:
    """Return the likeliest type of a sentence: an episode, a lasting trait, or a fact."""
    if find_times(sentence, clock):
        return "episodic"
    return "profile" if PROFILE.search(sentence) else "episodic" if EPISODIC.search(sentence) else "fact"


def location_of(sentence: str) -> str:
    """Return the first place after a preposition that is not negated; "from Paris" only where there is no other."""
    matches = [
        match
        for match in LOCATION.finditer(affirmed(sentence))
        if not match["rest"] and match["place"].split()[0].casefold() not in TIMES_OF_YEAR
    ]
    return min(matches, key=lambda match: match["preposition"] == "from")["place"] if matches else ""


def reason_of(sentence: str) -> str:
    """Return the clause that states a reason; empty for none."""
    return "".join(REASON.findall(sentence)[:1]).strip()


def purpose_of(sentence: str) -> str:
    """Return the clause that states a purpose; empty for none."""
    return "".join(PURPOSE.findall(sentence)[:1]).strip()


@lru_cache(maxsize=4096)
def slot_of(text: str, speaker: str) -> Slot | None:
    """Return the first attribute that a sentence sets, of its `speaker` or whom it names; None for none for certain."""
    if is_question(text):
        return None
    for name, pattern in _patterns():
        match = pattern.search(text)
        if not match or UNSURE.search(text[: match.start()]) or TEMPORARY.search(text[match.end() :]):
            continue
        if slot := _read(name, match, speaker):
            return slot
    return None


def states_change(record: Record) -> bool:
    """Return whether a record says that something is no longer as it was."""
    return CHANGE.search(own_words(record.content, record.speaker)) is not None


def states_something(record: Record) -> bool:
    """Return whether a record may change: it lasts, or is no question, no image, and more than praise."""
    said = own_words(record.content, record.speaker)
    return bool(record.lasting) or not (is_question(said) or shows_image(record.content) or speaks_to_listener(said))


def slot_in(record: Record) -> Slot | None:
    """Return the slot that a record sets; None if it sets none."""
    return slot_of(own_words(record.content, record.speaker), record.speaker)


def expanded_stems(text: str, speaker: str) -> set[str]:
    """Return the content stems of a sentence, and those of questions about the attribute that it sets."""
    slot = slot_of(text, speaker)
    return {*content_stems(text), *content_stems(IMPLIED.get(slot.name, "") if slot else "")}


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return the compiled expressions: a search, which reads no slot, starts without them."""
    return [(name, re.compile(expression)) for name, expression in EXPRESSIONS]


def _read(name: str, match: re.Match[str], speaker: str) -> Slot | None:
    if name == "version":
        return _read_version(match, speaker)
    if name == "measure":
        return _read_measure(match, speaker)
    owner = _owner(match["subject"], speaker)
    value = TRAILING.sub("", " ".join(match["value"].casefold().split()))
    is_time = name in ("home", "work") and words(match["value"])[0] in MONTHS_AND_DAYS
    if not (owner and value) or is_time or EMPTY_VALUE.match(value):
        return None
    if name == "favourite":
        name = f"favourite {match['kind'].casefold().replace('color', 'colour')}"
    return Slot(owner, name, value)


def _read_version(match: re.Match[str], speaker: str) -> Slot | None:
    """Return the version of a thing that the speaker or their people use, apart by where they use it."""
    if not (speaker and NOT_VERSIONED.isdisjoint(words(match["kind"]))):
        return None
    where = match["where"] or ""
    used = match["kind"] + ("" if MONTHS_AND_DAYS.intersection(words(where)) else where)
    return Slot(speaker.casefold(), f"version of {' '.join(used.casefold().split())}", match["value"])


def _read_measure(match: re.Match[str], speaker: str) -> Slot | None:
    """Return an amount by the words around it, or what a thing is; none of a plan, or of what a number only names."""
    kind = " ".join(words(re.sub(LATELY, "", match["kind"]))).removesuffix(" on") + (" is" if match["moved"] else "")
    value, unit, times = match["value"], words(match["unit"]), find_times(match.string, NO_CLOCK)
    is_stated = kind.endswith((" is", " are"))
    is_version = is_stated and NOT_VERSIONED.isdisjoint(words(value))
    if is_stated and times and times[0].start_char == match.start("value"):
        value, unit = times[0].text, []
    elif times or (value[0].isalpha() and not is_version) or (value[0].isdigit() and match["moved"]):
        return None
    is_amount = unit or value[0] in "£$€" or is_stated
    if not (is_amount and speaker) or kind.split()[-1] in COUNTED.split() or UNSURE.search(kind):
        return None
    around = " ".join([match["subject"].casefold(), kind, *unit])
    return Slot(speaker.casefold(), around, plain_number(value.casefold()))


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
