"""Read what a turn does by its words: asks, replies, greets, takes leave, points back. English only.

Questions are told by their mark or by their first word, so that text without punctuation can be read too. This module
does not know what the turns before it did.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from langgraph_engram.text.sentences import QUESTION_MARKS, ends_asking
from langgraph_engram.text.tokens import content_stems, words

QUESTION_WORDS = frozenset(
    "what who whom whose which when where why how do does did is are was were am can could will would should shall "
    "may might have has had any anyone anything".split()
)
"""Words that a question begins with."""
LEAD_INS = frozenset("and so but ok okay".split())
"""Words that may stand before the first word of a question."""
POINTING_WORDS = frozenset("it that this they them he she those these there one his her its their".split())
"""Words that stand for something said before."""
OPENING_WORDS = 6
"""Words of a turn among which one may point back."""
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
LEAVE = re.compile(
    r"\b(?:bye|goodbye|good night|take care|see (?:you|ya)|talk (?:to you )?(?:soon|later)|catch you|"
    r"have a (?:great|good|nice|wonderful|lovely) (?:day|one|night|evening|weekend|time)|"
    r"nice (?:talking|chatting)|you'?re welcome|no problem|anytime)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SpeechCues:
    """What the words of one turn tell of what it does."""

    asks: bool
    """Holds a question mark, or begins as a question does."""
    asks_inside: bool
    """Has some sentence that begins as a question does."""
    ends_asking: bool
    """Ends with a question mark."""
    replies: bool
    """Begins with words that react to what was said."""
    greets: bool
    takes_leave: bool
    points_back: bool
    """Has a word near its beginning that stands for something said before."""
    stems: frozenset[str]
    """Content stems."""
    length: int
    """Words."""


@lru_cache(maxsize=20_000)
def read_cues(text: str) -> SpeechCues:
    """Read the cues of one turn's text; none of an empty one."""
    said = words(text)
    sentences = (words(sentence) for sentence in SENTENCE_END.split(text.strip()))
    return SpeechCues(
        asks=any(mark in text for mark in QUESTION_MARKS) or _begins_question(said),
        asks_inside=any(sentence[0] in QUESTION_WORDS for sentence in sentences if sentence),
        ends_asking=ends_asking(text),
        replies=bool(REPLY.search(text)),
        greets=bool(GREETING.search(text)),
        takes_leave=bool(LEAVE.search(text)),
        points_back=not POINTING_WORDS.isdisjoint(said[:OPENING_WORDS]),
        stems=frozenset(content_stems(text)),
        length=len(said),
    )


def _begins_question(said: list[str]) -> bool:
    if said and said[0] in LEAD_INS:
        said = said[1:]
    return bool(said) and said[0] in QUESTION_WORDS


DID = (
    "suggested|recommended|advised|told|mentioned|said|gave|listed|provided|proposed|explained|wrote|described|shared|"
    "created|made|drafted|generated|outlined|summari[sz]ed|translated|quoted|cited|named|came up with|pointed out|"
    "talked about|referred to|were referring to|walked me through|taught|showed|helped me with"
)
DO = (
    "suggest|recommend|advise|tell|mention|say|give|list|provide|propose|explain|write|describe|share|create|make|"
    "draft|generate|outline|summari[sz]e|translate|quote|cite|name|come up with|point out|refer to|teach|show"
)
TALK = "chat|conversation|discussion|session|talk|exchange|game|dialogue|thread"
EARLIER = "last|previous|earlier|prior|past|recent|first"
TALKED = "talked|spoke|discussed|chatted|went over|covered|agreed|decided|settled|outlined|came up with|worked on"
CUES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:you|the assistant)(?: had| have|'ve)?(?: \w+ly| also| once| just)? (?:{DID})\b",
        rf"\b(?:did|have|had) (?:you|the assistant) (?:\w+ly )?(?:{DO}|{DID})\b",
        r"\b(?:your|the assistant['’]?s) (?:earlier |previous |last |first |original )?"
        r"(?:suggestion|recommendation|advice|answer|list|idea|explanation|reply|response|tip|recipe|plan)s?\b",
        rf"\bour (?:{EARLIER}) (?:[\w-]+ ){{0,2}}(?:{TALK})s?\b",
        rf"\bwe(?:'ve| had| have)?(?: \w+ly)? (?:{TALKED})\b.{{0,60}}\b(?:{EARLIER}|before|earlier|last time|remind)\b",
        r"\bremind me (?:what|which|who|how|of (?:what|the|that|those))\b(?!.{0,60}\b(?:my|I)\b)",
    )
)
"""What speaks of the assistant's words; one is enough."""
OWN_WORDS = re.compile(
    r"\b(?:did|have|had) I (?:\w+ )?(?:tell|say|mention|share|told|said|mentioned|shared)\b|"
    r"\bwhat I (?:\w+ )?(?:told|said|mentioned|shared|asked)\b|\bI (?:told|mentioned to|asked) you\b",
    re.IGNORECASE,
)
"""What asks for the user's own words, whatever else it says."""

OF_ONESELF = re.compile(r"\b(?:my|mine|our|I(?:['’](?:m|ve)| am| have| was| had| just| got| bought))\b")
"""What tells of whoever speaks, in a question too."""


def asks_for_assistant(query: str) -> bool:
    """Return whether a query asks for what the assistant said."""
    return not OWN_WORDS.search(query) and any(cue.search(query) for cue in CUES)


def tells_of_oneself(text: str) -> bool:
    """Return whether a text, a question too, tells something of whoever says it: "a strap for my new camera"."""
    return OF_ONESELF.search(text) is not None
