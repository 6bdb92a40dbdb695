"""Read what a query asks for by its words, and what a turn does: asks, answers, thanks, greets.

Question answering starts from the expected answer type (Li and Roth 2002, "Learning question classifiers").
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

from langgraph_engram.text.sentences import QUESTION_MARKS, ends_asking
from langgraph_engram.text.statements import speaks_of_self
from langgraph_engram.text.words import content_stems, words

T = TypeVar("T")
Told: TypeAlias = tuple[str, float, float, bool]
"""Who tells something, when, how relevant it is, and whether it is of themselves."""
NEAR = 0.5
"""Share of the relevance of the best from which something newer comes before it."""
AnswerType = Literal[
    "time", "clock_time", "weekday", "duration", "number", "age",
    "place", "person", "name", "reason", "yes_no", "advice", "content",
]  # fmt: skip
PERIOD = "year|month|day|date|time|week|weekend|season|century|decade"
PLACE = (
    "places?|city|cities|towns?|villages?|country|countries|states?|regions?|venue|location|continents?|islands?|"
    "neighbou?rhood|area(?!\\s+of\\b)"
)
NAMED = (
    "books?|novels?|movies?|films?|songs?|albums?|bands?|artists?|singers?|authors?|games?|shows?|series|plays?|"
    "painting|brands?|compan(?:y|ies)|organi[sz]ations?|teams?|clubs?|schools?|universit(?:y|ies)|colleges?|"
    "restaurants?|titles?"
)
AUXILIARY = "is|are|was|were|am|do|does|did|has|have|had|can|could|would|will|should|might|may|must"
OF_WHAT_KIND = rf"(?:(?!(?:{AUXILIARY})\b)\w+\s+)?"
"""A word between the question word and its noun: "which European countries", but not "what is city life"."""
NOT_OF_MEMORY = r"^(?!\W*(?:did|does|has|had|how|what|which|who|where|when|(?:do|have)(?!\s+you\b))\b)"
ADVICE = (
    rf"{NOT_OF_MEMORY}.*\b(?:any|some|more)\s+(?:\w+\s+){{0,2}}(?:tips?|advice|ideas?|suggestions?|recommendations?)\b|"
    r"\b(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:recommend|suggest|advise)\b|"
    r"\b(?:do|would)\s+you\s+(?:recommend|suggest)\b|(?:^|[.!?]\s+)do\s+you\s+think\b|\bwhat\s+do\s+you\s+think\b|"
    r"(?:^|[.!?]\s+)(?:(?:what|which)(?!\s+time)\s+(?:\w+\s+){0,2})?should\s+I\b"
)
"""Requests for the opinion of whoever answers, rather than for a memory."""
PATTERNS: tuple[tuple[str, AnswerType], ...] = (
    (ADVICE, "advice"),
    (r"^\W*(?:(?:since|until|by|from)\s+)?when\b|\bhow long ago\b|\bhow recently\b", "time"),
    (rf"\b(?:what|which)\s+{OF_WHAT_KIND}(?:days?\s+of\s+the\s+week|weekdays?)\b", "weekday"),
    (rf"(?<!since\s)\bwhat\s+{OF_WHAT_KIND}time\b(?!\s+of\b)", "clock_time"),
    (rf"\b(?:what|which)\s+{OF_WHAT_KIND}(?:{PERIOD})\b", "time"),
    (r"\bhow long\b|\bhow much time\b|\bhow many (?:years|months|weeks|days|hours|minutes)\b", "duration"),
    (rf"\bhow old\b|\bwhat age\s+(?:{AUXILIARY})\b", "age"),
    (r"\bhow (?:many|much|often|far|tall|big|large|heavy|high)\b", "number"),
    (rf"^\W*(?:(?:from|to|in|at)\s+)?where\b|\b(?:what|which)\s+{OF_WHAT_KIND}(?:{PLACE})\b", "place"),
    (r"^\W*(?:(?:with|to|for|from|by)\s+)?(?:who|whom|whose)\b", "person"),
    (r"^\W*why\b|\bhow come\b|\bfor what reason\b|\bwhat (?:is|was|were|are) the reasons?\b", "reason"),
    (r"\bwhat (?:is|was|are|were)\b.{0,40}\bnames?\b|\b(?:called|titled|named)\s*\?", "name"),
    (rf"\b(?:what|which)\s+{OF_WHAT_KIND}(?:{NAMED})\b", "name"),
    (rf"^\W*(?:{AUXILIARY})\b", "yes_no"),
)  # fmt: skip
"""What queries look like that expect each type; the first that matches counts."""
ANSWER_TYPES = tuple((re.compile(pattern, re.IGNORECASE), name) for pattern, name in PATTERNS)
CONTRACTED = re.compile(r"\b(what|who|where|when|how)['’]s\b", re.IGNORECASE)
ORDER = re.compile(r"\border\b|\b(?:earliest|oldest|first)\s+to\s+(?:latest|newest|last)\b", re.IGNORECASE)
PAST_STATE = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|originally|earlier|no longer|change[sd]?)\b|"
    r"\bdid\b.*\buse to\b|\bbefore\W*$",
    re.IGNORECASE,
)
ASSISTANT_DID = (
    "suggested|recommended|advised|told|mentioned|said|gave|listed|provided|proposed|explained|wrote|described|shared|"
    "created|made|drafted|generated|outlined|summari[sz]ed|translated|quoted|cited|named|came up with|pointed out|"
    "talked about|referred to|were referring to|walked me through|taught|showed|helped me with"
)
ASSISTANT_DO = (
    "suggest|recommend|advise|tell|mention|say|give|list|provide|propose|explain|write|describe|share|create|make|"
    "draft|generate|outline|summari[sz]e|translate|quote|cite|name|come up with|point out|refer to|teach|show"
)
CONVERSATION = "chat|conversation|discussion|session|talk|exchange|game|dialogue|thread"
EARLIER = "last|previous|earlier|prior|past|recent|first"
TALKED = "talked|spoke|discussed|chatted|went over|covered|agreed|decided|settled|outlined|came up with|worked on"
ASSISTANT_CUES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:you|the assistant)(?: had| have|'ve)?(?: \w+ly| also| once| just)? (?:{ASSISTANT_DID})\b",
        rf"\b(?:did|have|had) (?:you|the assistant) (?:\w+ly )?(?:{ASSISTANT_DO}|{ASSISTANT_DID})\b",
        r"\b(?:your|the assistant['’]?s) (?:earlier |previous |last |first |original )?"
        r"(?:suggestion|recommendation|advice|answer|list|idea|explanation|reply|response|tip|recipe|plan)s?\b",
        rf"\bour (?:{EARLIER}) (?:[\w-]+ ){{0,2}}(?:{CONVERSATION})s?\b",
        rf"\bwe(?:'ve| had| have)?(?: \w+ly)? (?:{TALKED})\b.{{0,60}}\b(?:{EARLIER}|before|earlier|last time|remind)\b",
        r"\bremind me (?:what|which|who|how|of (?:what|the|that|those))\b(?!.{0,60}\b(?:my|I)\b)",
    )
)
"""Mentions of the assistant's words; one is enough."""
USER_WORDS = re.compile(
    r"\b(?:did|have|had) I (?:\w+ )?(?:tell|say|mention|share|told|said|mentioned|shared)\b|"
    r"\bwhat I (?:\w+ )?(?:told|said|mentioned|shared|asked)\b|\bI (?:told|mentioned to|asked) you\b",
    re.IGNORECASE,
)
"""Queries for the user's own words, whatever else they say."""


def answer_type(query: str) -> AnswerType:
    """Return the type of answer a query expects; `content` where its words do not say."""
    full = CONTRACTED.sub(r"\1 is", query)
    return next((name for pattern, name in ANSWER_TYPES if pattern.search(full)), "content")


def asks_for_earlier_state(query: str) -> bool:
    """Return whether an earlier state answers: "What did I use to drive?"."""
    return PAST_STATE.search(query) is not None


def newest_first(query: str, time: object, found: Sequence[T], told_by: Callable[[T], Told]) -> list[T]:
    """Put before the best of what was found what its speaker tells later, nearly as relevant, the newest first.

    That is where people ask of themselves what holds now: of nothing earlier, of no time, and for no order.
    """
    if not found or time or not speaks_of_self(query) or asks_for_earlier_state(query) or ORDER.search(query):
        return list(found)
    speaker, day, relevance, _ = told_by(found[0])

    def is_newer(item: T) -> bool:
        who, when, share, of_self = told_by(item)
        return of_self and who == speaker and when > day and share >= NEAR * relevance

    newer = sorted(filter(is_newer, found), key=lambda item: told_by(item)[1], reverse=True)
    return [*newer, *(item for item in found if item not in newer)]


def asks_for_assistant(query: str) -> bool:
    """Return whether a query asks for what the assistant said."""
    return not USER_WORDS.search(query) and any(cue.search(query) for cue in ASSISTANT_CUES)


QUESTION_WORDS = frozenset(
    "what who whom whose which when where why how do does did is are was were am can could will would should shall "
    "may might have has had any anyone anything".split()
)
LEAD_INS = frozenset("and so but ok okay".split())
"""Words that may stand before the first word of a question."""
POINTING_WORDS = frozenset("it that this they them he she those these there one his her its their".split())
"""Words that stand for something said before."""
OPENING_WORDS = 6
"""Words of a turn of which one may point back."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
REPLY = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|no|nope|thanks|thank you|wow|that'?s|that (?:is|sounds)|sounds|i agree|totally|exactly|"
    r"sure|cool|nice|great|awesome|really|haha|lol|oh|ok|okay|alright|right|true|same|me too|hmm|aw+|ah|i see|"
    r"of course|absolutely|definitely)\b",
    re.IGNORECASE,
)
GREETING = re.compile(
    r"^\W*(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon|day)|greetings|what'?s up|long time)\b", re.IGNORECASE
)
LEAVE_TAKING = re.compile(
    r"\b(?:bye|goodbye|good night|take care|see (?:you|ya)|talk (?:to you )?(?:soon|later)|catch you|"
    r"have a (?:great|good|nice|wonderful|lovely) (?:day|one|night|evening|weekend|time)|"
    r"nice (?:talking|chatting)|you'?re welcome|no problem|anytime)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TurnCues:
    """The cues of one turn."""

    asks: bool
    """Holds a question mark, or, in text without punctuation, begins as a question does."""
    asks_inside: bool
    """Has some sentence that begins as a question does."""
    ends_asking: bool
    replies: bool
    greets: bool
    takes_leave: bool
    points_back: bool
    """Has a word near its beginning that stands for something said before."""
    stems: frozenset[str]
    length: int


@lru_cache(maxsize=20_000)
def read_cues(text: str) -> TurnCues:
    """Return the cues of one turn's text; none for an empty text."""
    turn_words = words(text)
    sentences = (words(sentence) for sentence in SENTENCE_END.split(text.strip()))
    return TurnCues(
        asks=any(mark in text for mark in QUESTION_MARKS) or begins_question(text),
        asks_inside=any(sentence[0] in QUESTION_WORDS for sentence in sentences if sentence),
        ends_asking=ends_asking(text),
        replies=bool(REPLY.search(text)),
        greets=bool(GREETING.search(text)),
        takes_leave=bool(LEAVE_TAKING.search(text)),
        points_back=not POINTING_WORDS.isdisjoint(turn_words[:OPENING_WORDS]),
        stems=frozenset(content_stems(text)),
        length=len(turn_words),
    )


def begins_question(text: str) -> bool:
    """Return whether a text begins as a question does."""
    first, second = [*words(text), "", ""][:2]
    return (second if first in LEAD_INS else first) in QUESTION_WORDS


def asks(text: str) -> bool:
    """Return whether a text begins as a question does, or ends as one."""
    return begins_question(text) or ends_asking(text)
