"""Augment annotated dialogues, so that a boundary model holds for other dialogues than those it was fitted on.

Question marks or all punctuation are removed, so that coherence must decide where cues are missing; dialogues are
joined; segments of different dialogues are chained, with or without their first turn, so that a boundary is where
coherence ends, whatever the first words; dialogues are truncated, so that a turn is judged as it is said. The speakers
of joined dialogues stay as they are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from engram_lab.segmentation import Dialogue

SEGMENTS = (3, 4, 5, 6)
"""Numbers of segments that may be chained."""
MIN_TURNS = 3
"""Turns of the shortest segment that is chained."""
AUGMENTED_WEIGHT = 0.5
"""The weight of a gap of an augmented dialogue."""
PUNCTUATION = re.compile(r"[^\w\s']")


@dataclass(frozen=True)
class Example:
    """One dialogue to learn from."""

    turns: list[tuple[str, str]]
    """Speaker and text of each turn."""
    cuts: list[int]
    """For each gap, 1 where a segment ends before it."""
    weight: float
    only_last: bool = False
    """Whether only the last gap is learned from."""


def make_examples(dialogues: Sequence[Dialogue], random: Random) -> list[Example]:
    """Return the annotated dialogues, with weight 1, and all that is made of them, with weight 0.5."""
    plain = [_example(dialogue) for dialogue in dialogues if len(dialogue.turns) > 1]
    segments = [segment for example in plain for segment in _segments(example)]
    whole = [segment for segment in segments if len(segment) >= MIN_TURNS]
    without_first = [segment[1:] for segment in segments if len(segment) > MIN_TURNS]
    chained = _chain(whole, random)
    return [
        *plain,
        *(_without_marks(example, every=index % 2 == 0) for index, example in enumerate(plain)),
        *_join(plain, random),
        *chained,
        *(_without_marks(example, every=True) for example in chained),
        *_chain(without_first, random),
        *(_truncate(example, random) for example in plain for _ in range(2)),
    ]


def _example(dialogue: Dialogue) -> Example:
    return Example([(turn.speaker, turn.text) for turn in dialogue.turns], dialogue.boundaries[:-1], 1.0)


def _segments(example: Example) -> list[list[tuple[str, str]]]:
    segments = [[example.turns[0]]]
    for turn, cut in zip(example.turns[1:], example.cuts, strict=True):
        if cut:
            segments.append([])
        segments[-1].append(turn)
    return segments


def _without_marks(example: Example, *, every: bool) -> Example:
    """Remove the question marks of a dialogue, or every mark and capital."""
    bare = [(speaker, _bare(text) if every else text.replace("?", "").strip()) for speaker, text in example.turns]
    return Example(bare, example.cuts, AUGMENTED_WEIGHT)


def _bare(text: str) -> str:
    return " ".join(PUNCTUATION.sub(" ", text).split()).lower()


def _join(examples: Sequence[Example], random: Random) -> list[Example]:
    order = random.sample(list(examples), len(examples))
    return [
        Example([*first.turns, *second.turns], [*first.cuts, 1, *second.cuts], AUGMENTED_WEIGHT)
        for first, second in zip(order[::2], order[1::2], strict=False)
    ]


def _chain(segments: Sequence[list[tuple[str, str]]], random: Random) -> list[Example]:
    """Chain segments of different dialogues; a boundary is between any two, and nowhere else."""
    remaining = random.sample(list(segments), len(segments))
    examples: list[Example] = []
    while remaining:
        size = random.choice(SEGMENTS)
        taken, remaining = remaining[:size], remaining[size:]
        if len(taken) > 1:
            cuts = [cut for segment in taken for cut in (1, *[0] * (len(segment) - 1))][1:]
            examples.append(Example([turn for segment in taken for turn in segment], cuts, AUGMENTED_WEIGHT))
    return examples


def _truncate(example: Example, random: Random) -> Example:
    """Truncate a dialogue after some turn: what is learned is the gap before that turn."""
    length = random.randint(2, len(example.turns))
    return Example(example.turns[:length], example.cuts[: length - 1], AUGMENTED_WEIGHT, only_last=True)
