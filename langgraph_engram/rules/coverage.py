"""Measure how far pieces of evidence cover what a query names: the ground of every verdict without a model."""

from collections.abc import Mapping, Sequence

from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.text.questions import AnswerType, answer_type
from langgraph_engram.text.slots import told_stems
from langgraph_engram.text.tokens import content_stems

ASKING_WORDS = frozenset(
    content_stems(
        "much many long often kind type sort name thing things did happen time date day year month week place person "
        "people one first last recently currently new now planned plan going get go make take tell said say told "
        "mention"
    )
)
"""Stems that say how something is asked, not what is asked for."""
CALLED = frozenset(content_stems("called titled named"))
"""Stems that ask for a name, and are not what is named."""
ADVISED = frozenset(
    content_stems("tips advice ideas suggestions recommendations recommend suggest advise think should help look")
)
"""Stems that ask for advice, and are not what it is about."""
EARLIER = frozenset(content_stems("before previous previously former formerly originally earlier used"))
"""Stems that ask for what was so before: a superseded record tells of it."""
SAY_HOW: Mapping[AnswerType, frozenset[str]] = {"name": CALLED, "advice": ADVISED}
"""Stems that say how an answer of a type is asked for."""
HALF = 0.5
SUFFICIENT = 0.6
"""Least share of what the query names that an answer's pieces must mention for it to suffice."""


def needed_stems(query: str, intent: Intent) -> set[str]:
    """Give the stems that evidence must mention: those of the query but its asking words, people and times."""
    people = {stem for name in intent.speakers for stem in content_stems(name)}
    times = set(content_stems(intent.time.text)) if intent.time else set()
    stems = set(content_stems(query)) - SAY_HOW.get(answer_type(query), frozenset())
    return (stems - ASKING_WORDS - people - times) or (stems - people) or stems


def coverage(needed: set[str], pieces: Sequence[Evidence]) -> float:
    """Give the share of needed stems that the pieces mention, with the turns under them, in [0, 1]; 1 for no need."""
    return len(needed & said_in(pieces)) / len(needed) if needed else 1.0


def said_in(pieces: Sequence[Evidence]) -> set[str]:
    """Give the stems of what pieces say, and of the turns under them."""
    said = {stem for text, speaker in texts_in(pieces) for stem in told_stems(text, speaker)}
    tells_of_before = any(piece.record and piece.record.status == "superseded" for piece in pieces)
    return said | EARLIER if tells_of_before else said


def texts_in(pieces: Sequence[Evidence]) -> list[tuple[str, str]]:
    """Give what pieces say, and the turns under them, each with its speaker; empty where that is not known."""
    shown = [(piece_text(piece), piece.record.speaker if piece.record else "") for piece in pieces]
    return shown + [(" ".join([turn.text, *turn.captions]), turn.speaker) for piece in pieces for turn in piece.turns]


def covering_order(query: str, intent: Intent, evidence: Sequence[Evidence]) -> list[int]:
    """Order places of evidence by what they cover and how well they were found, best first.

    A piece counts for the stems it mentions, each the more the fewer pieces mention it; a piece by another person
    than the one asked about counts half.
    """
    needed = needed_stems(query, intent)
    held = [set(content_stems(piece_text(piece))) & needed for piece in evidence]
    weight = {stem: 1 / (1 + sum(stem in stems for stems in held)) for stem in needed}
    whole = sum(weight.values()) or 1.0
    scores = [sum(weight[stem] for stem in stems) / whole for stems in held]
    best = max((piece.score for piece in evidence), default=0.0) or 1.0
    total = [
        (score + piece.score / best) * (1.0 if is_about(piece, intent) else HALF)
        for score, piece in zip(scores, evidence, strict=True)
    ]
    return sorted(range(len(evidence)), key=lambda place: (-total[place], place))


def is_about(piece: Evidence, intent: Intent) -> bool:
    """Say whether a piece comes from, or mentions, one of the people a query names; true when it names none."""
    return not intent.speakers or mentions(piece_text(piece), intent.speakers)


def mentions(text: str, people: Sequence[str]) -> bool:
    """Say whether a text holds a part of one of these names."""
    said = set(content_stems(text))
    return any(not said.isdisjoint(content_stems(name)) for name in people)


def piece_text(piece: Evidence) -> str:
    """Give what a piece says, without its date."""
    return piece.record.content if piece.record else piece.text
