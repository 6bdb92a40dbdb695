"""Make further dialogues of annotated ones, so that what is learned holds where one kind of dialogue's habits do not.

Question marks or all punctuation go, so that coherence must speak where cues are silent; dialogues are joined; segments
of different dialogues are strung together, with or without the turn that opens them, so that a boundary is where
coherence ends, whatever the first words; dialogues are broken off, so that a turn is judged as it is said. The speakers
of joined dialogues stay as they are. This module does not know what is learned.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from langgraph_engram.benchmarks.segmentation import Dialogue

SEGMENTS = (3, 4, 5, 6)
"""How many segments may be strung together."""
LEAST_TURNS = 3
"""Turns of a segment that is strung together with others."""
MADE = 0.5
"""What a gap of a made dialogue counts."""
PUNCTUATION = re.compile(r"[^\w\s']")


@dataclass(frozen=True)
class Lesson:
    """One dialogue to learn from."""

    said: list[tuple[str, str]]
    """Speaker and text of each turn."""
    cuts: list[int]
    """For each gap, 1 where a segment ends before it."""
    weight: float
    """What a gap of it counts."""
    only_last: bool = False
    """Whether only the last gap is learned from."""


def lessons_of(dialogues: Sequence[Dialogue], chance: Random) -> list[Lesson]:
    """Make all lessons of annotated dialogues: these themselves count 1, made ones a half.

    Args:
        dialogues: Annotated dialogues.
        chance: Draws what is joined with what; the same seed gives the same lessons.
    """
    plain = [_lesson(one) for one in dialogues if len(one.turns) > 1]
    segments = [segment for lesson in plain for segment in _segments(lesson)]
    whole = [segment for segment in segments if len(segment) >= LEAST_TURNS]
    unopened = [segment[1:] for segment in segments if len(segment) > LEAST_TURNS]
    strung = _strung(whole, chance)
    return [
        *plain,
        *(_without_marks(lesson, every=place % 2 == 0) for place, lesson in enumerate(plain)),
        *_joined(plain, chance),
        *strung,
        *(_without_marks(lesson, every=True) for lesson in strung),
        *_strung(unopened, chance),
        *(_broken_off(lesson, chance) for lesson in plain for _ in range(2)),
    ]


def _lesson(dialogue: Dialogue) -> Lesson:
    return Lesson([(turn.speaker, turn.text) for turn in dialogue.turns], dialogue.boundaries[:-1], 1.0)


def _segments(lesson: Lesson) -> list[list[tuple[str, str]]]:
    found = [[lesson.said[0]]]
    for said, cut in zip(lesson.said[1:], lesson.cuts, strict=True):
        if cut:
            found.append([])
        found[-1].append(said)
    return found


def _without_marks(lesson: Lesson, *, every: bool) -> Lesson:
    """Take the question marks out of a dialogue, or every mark and capital."""
    bare = [(speaker, _bare(text) if every else text.replace("?", "").strip()) for speaker, text in lesson.said]
    return Lesson(bare, lesson.cuts, MADE)


def _bare(text: str) -> str:
    return " ".join(PUNCTUATION.sub(" ", text).split()).lower()


def _joined(lessons: Sequence[Lesson], chance: Random) -> list[Lesson]:
    """Join dialogues two by two."""
    order = chance.sample(list(lessons), len(lessons))
    pairs = zip(order[::2], order[1::2], strict=False)
    return [Lesson([*one.said, *other.said], [*one.cuts, 1, *other.cuts], MADE) for one, other in pairs]


def _strung(segments: Sequence[list[tuple[str, str]]], chance: Random) -> list[Lesson]:
    """String segments of different dialogues together; a boundary stands between any two, and nowhere else."""
    left = chance.sample(list(segments), len(segments))
    lessons: list[Lesson] = []
    while left:
        size = chance.choice(SEGMENTS)
        taken, left = left[:size], left[size:]
        if len(taken) > 1:
            cuts = [cut for segment in taken for cut in (1, *[0] * (len(segment) - 1))][1:]
            lessons.append(Lesson([said for segment in taken for said in segment], cuts, MADE))
    return lessons


def _broken_off(lesson: Lesson, chance: Random) -> Lesson:
    """Break a dialogue off after some turn: what is learned is the gap before that turn."""
    kept = chance.randint(2, len(lesson.said))
    return Lesson(lesson.said[:kept], lesson.cuts[: kept - 1], MADE, only_last=True)
