"""Read which dialogue acts English words show: asking, replying, greeting, taking leave, pointing back."""

import re
from dataclasses import dataclass
from functools import lru_cache

from langgraph_engram.text.sentences import QUESTION_MARKS, ends_asking
from langgraph_engram.text.tokens import content_stems, words

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
