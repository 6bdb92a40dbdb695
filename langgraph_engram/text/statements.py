"""Read an English statement by its words: whom it speaks of, what it negates, its type, place, reason and purpose."""

import re
from datetime import datetime
from itertools import pairwise

from langgraph_engram.schema import MemoryType
from langgraph_engram.temporal.find import find_times
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.tokens import MONTHS_AND_DAYS, PAST_FORMS

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
    r"(?:has|have) changed|(?:is|are) now (?:on|at|in|called)|moved (?:it )?to|switched (?:from|to)|postponed|"
    r"rescheduled|cancell?ed|correction|i was wrong|actually it['’]?s|turns out it['’]?s|quit (?:my|the)|"
    r"(?:quit|stopped|gave up) \w+ing)\b",
    re.IGNORECASE,
)
PAST_VERB = rf"(?:\w+ed|{'|'.join(sorted(PAST_FORMS))})"
NEXT_CLAUSE = re.compile(
    rf"[,;:]\s+|\s+[–—-]+\s+|\s*[–—]\s*|\s+(?=(?:but|although|though|however|because|since|instead)\b)|"
    rf"\s+(?=so\s+{PRONOUN}\b)|\s+(?=and\s+(?:{PRONOUN}(?:['’]\w+)?|{PAST_VERB})\s)",
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
    rf"\bno\s+longer\b|\b(?:do|does|did|have|has|had|am|is|are|was|were)\s+not\b(?!\s+(?:{IDIOM_VERBS})\b)|"
    rf"\b(?:do|does|did|have|has|had|is|are|was|were|ca|wo)n['’]?t\b(?!\s+(?:{IDIOM_VERBS})\b)|"
    rf"['’](?:m|re|s)\s+not\b(?!\s+(?:{IDIOM_VERBS})\b)|\bnever\b(?!\s+(?:{IDIOM_VERBS}|again|mind|ending)\b)|"
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
    return addresses_listener(text) and not speaks_of_self(text)


def addresses_listener(text: str) -> bool:
    """Return whether a text speaks in the second person."""
    return SECOND_PERSON.search(text) is not None


def mentions_speaker(text: str) -> bool:
    """Return whether a text, a question too, mentions something of its speaker's own: "a strap for my camera"."""
    return OWN_THING.search(text) is not None


def signals_change(text: str) -> bool:
    """Return whether a text states that something is no longer as it was."""
    return CHANGE.search(text) is not None


def affirmed(text: str) -> str:
    """Return a sentence, unless it asks, without the clauses that are negated, and the items of a list after them."""
    if is_question(text) or not NEGATION.search(text):
        return text
    ends = [0, *(match.end() for match in NEXT_CLAUSE.finditer(text)), len(text)]
    kept: list[str] = []
    negated = False
    for start, end in pairwise(ends):
        clause = text[start:end]
        negated = _is_negated(clause) or (negated and _is_item(clause))
        if not negated:
            kept.append(clause)
    return "".join(kept).strip()


def type_of(sentence: str, clock: datetime | None) -> MemoryType:
    """Return the likeliest type of a sentence: an episode, a lasting trait, or a fact."""
    if find_times(sentence, clock):
        return "episodic"
    if PROFILE.search(sentence):
        return "profile"
    return "episodic" if EPISODIC.search(sentence) else "fact"


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
    return _clause(REASON, sentence)


def purpose_of(sentence: str) -> str:
    """Return the clause that states a purpose; empty for none."""
    return _clause(PURPOSE, sentence)


def _clause(pattern: re.Pattern[str], sentence: str) -> str:
    match = pattern.search(sentence)
    return match.group(1).strip() if match else ""


def _is_negated(clause: str) -> bool:
    match = NEGATION.search(clause)
    return match is not None and not COMPARES.search(clause, match.end())


def _is_item(clause: str) -> bool:
    return len(clause.split()) <= MAX_ITEM_WORDS and not CLAUSE_WORDS.search(clause)
