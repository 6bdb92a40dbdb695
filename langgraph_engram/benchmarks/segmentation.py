"""Measure how well the `segment` step finds where dialogues turn to something else (Jiang et al., EMNLP 2023).

Each dialogue is one call of the step that the write graph runs, on a store that holds nothing. The step's events are
the predicted segments. This module does not know how the step cuts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from statistics import fmean
from time import perf_counter

from langgraph_engram.benchmarks.questions import Progress, Spent, spent
from langgraph_engram.errors import InvalidInput, InvalidMessages
from langgraph_engram.formats.files import parse_json, read_file
from langgraph_engram.formats.messages import shown, to_messages
from langgraph_engram.llm.base import Model
from langgraph_engram.nodes.segment import Segment
from langgraph_engram.results import total
from langgraph_engram.schema import Frozen, Turn, make_id
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.state import Message, RememberRequest
from langgraph_engram.stores.base import Store

ANSWERING = frozenset({"assistant", "system", "wizard"})
"""Roles of the side that answers, and a name that only data sets give it; everybody else counts as a user."""


@dataclass(frozen=True)
class Dialogue:
    """One dialogue and where its segments end."""

    dialogue_id: str
    turns: list[Turn]
    boundaries: list[int]
    """A label for each turn: 1 where a segment ends at it."""


def read_dialogues(path: str | PathLike[str]) -> list[Dialogue]:
    """Read a file's dialogues, in order.

    Raises:
        UnreadableFile: The file is missing, or is not JSON.
        InvalidInput: A dialogue in it is not what it should be; the text names its place from 0.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    items = data if isinstance(data, list) else [data]
    return [_read_dialogue(item, number, name) for number, item in enumerate(items)]


def _read_dialogue(item: object, number: int, name: str) -> Dialogue:
    place = f"{name}: dialogue {number}"
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{place}: expected an object with utterances and boundaries, not {shown(item)}")
    dialogue_id = str(item.get("dialogue_id", number))
    try:
        said = to_messages(item.get("utterances"))
    except InvalidMessages as error:
        raise InvalidInput(f"{place}: its utterances cannot be read: {error}") from error
    boundaries = item.get("boundaries")
    if not isinstance(boundaries, Sequence) or len(boundaries) != len(said):
        raise InvalidInput(f"{place}: expected boundaries with {len(said)} labels, not {shown(boundaries)}")
    if any(label not in (0, 1) for label in boundaries):
        raise InvalidInput(f"{place}: expected boundaries of 0 and 1, not {shown(boundaries)}")
    key = f"{number}:{dialogue_id}"
    return Dialogue(
        dialogue_id, [_turn(key, seq, one) for seq, one in enumerate(said)], [int(one) for one in boundaries]
    )


def _turn(session_id: str, seq: int, said: Message) -> Turn:
    return Turn(
        turn_id=make_id(session_id, seq),
        session_id=session_id,
        seq=seq,
        role="user" if ANSWERING.isdisjoint((said.role, said.speaker.casefold())) else "assistant",
        speaker=said.speaker,
        text=said.text,
        captions=said.captions,
        said_at=said.said_at,
    )


LEAST_WINDOW = 2
"""Turns that a window holds at least."""


class SegmentationScores(Frozen):
    """How well boundaries were found; every figure is in [0, 1]."""

    pk: float
    """Share of windows that disagree on whether they hold a boundary; 0 is perfect."""
    wd: float
    """Share of windows that disagree on how many boundaries they hold; never below `pk`."""
    f1: float
    """F1 of the boundaries, each where it stands."""
    score: float
    """(2 F1 + (1 - Pk) + (1 - WD)) / 4."""


def score_dialogue(gold: Sequence[int], predicted: Sequence[int]) -> SegmentationScores:
    """Score one dialogue.

    Args:
        gold: T labels, 0 or 1, with T at least 2; the last is taken as 0.
        predicted: As many labels.

    Raises:
        ValueError: The lengths differ, or there is but one turn.
    """
    if len(gold) != len(predicted) or len(gold) < LEAST_WINDOW:
        raise ValueError(f"cannot compare {len(gold)} labels with {len(predicted)}: give two or more of each")
    truth, guess = [*gold[:-1], 0], [*predicted[:-1], 0]
    width = window_width(truth)
    pk, wd, f1 = penalty(truth, guess, width), window_diff(truth, guess, width), boundary_f1(truth, guess)
    return SegmentationScores(pk=pk, wd=wd, f1=f1, score=(2 * f1 + (1 - pk) + (1 - wd)) / 4)


def average(scores: Sequence[SegmentationScores]) -> SegmentationScores:
    """Average over dialogues, each counting once (a macro average); at least one."""
    return SegmentationScores(
        pk=fmean(one.pk for one in scores),
        wd=fmean(one.wd for one in scores),
        f1=fmean(one.f1 for one in scores),
        score=fmean(one.score for one in scores),
    )


def window_width(gold: Sequence[int]) -> int:
    """Give k: half the mean length of a gold segment, in turns, at least 2; halves round to the even number."""
    return max(LEAST_WINDOW, round(len(gold) / (sum(gold) + 1) / 2))


def penalty(gold: Sequence[int], predicted: Sequence[int], width: int) -> float:
    """Compute Pk: the share of windows of `width` labels where just one side has a boundary."""
    pairs = list(_counts(gold, predicted, width))
    return sum((one > 0) != (other > 0) for one, other in pairs) / len(pairs)


def window_diff(gold: Sequence[int], predicted: Sequence[int], width: int) -> float:
    """Compute WindowDiff: the share of windows of `width` labels where the numbers of boundaries differ."""
    pairs = list(_counts(gold, predicted, width))
    return sum(one != other for one, other in pairs) / len(pairs)


def boundary_f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """Compute the F1 of labels that are 1; 0 where neither side has any."""
    shared = sum(one and other for one, other in zip(gold, predicted, strict=True))
    total = sum(gold) + sum(predicted)
    return 2 * shared / total if total else 0.0


def _counts(gold: Sequence[int], predicted: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    for start in range(len(gold) - width + 1):
        yield sum(gold[start : start + width]), sum(predicted[start : start + width])


USER = "bench"
LEAST_TURNS = 2
"""A dialogue of one turn has no place for a boundary."""


@dataclass(frozen=True)
class Cut:
    """One dialogue as the step cut it."""

    scores: SegmentationScores
    predicted: int
    gold: int
    """Boundaries, the last turn left out."""
    failures: int
    spent: Spent


def run_segmentation(
    path: str | PathLike[str],
    store: Store,
    model: Model,
    settings: SegmentSettings,
    limit: int | None = None,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure the step on a file of dialogues.

    Args:
        path: The file; it is read, never copied.
        store: An empty store; nothing is written to it.
        model: Who answers the step's questions, where it has any.
        settings: How turns become events.
        limit: The first dialogues up to this number.
        progress: Told what is being done.

    Returns:
        The figures as plain JSON, averaged over the dialogues of two turns and more: rates in [0, 1].

    Raises:
        InvalidInput: No dialogue is left to measure, or one is not what it should be.
        UnreadableFile: The file is missing, or is not JSON.
    """
    dialogues = [one for one in read_dialogues(path)[:limit] if len(one.turns) >= LEAST_TURNS]
    if not dialogues:
        raise InvalidInput(f"{path}: no dialogue of {LEAST_TURNS} utterances or more to measure")
    step = Segment(store, model, settings)
    started = perf_counter()
    cuts = []
    for number, dialogue in enumerate(dialogues):
        if progress:
            progress("segmenting", number, len(dialogues))
        cuts.append(cut_dialogue(step, dialogue))
    return {"strategy": settings.strategy, "model": model.name, **report(cuts), "seconds": perf_counter() - started}


def cut_dialogue(step: Segment, dialogue: Dialogue) -> Cut:
    """Have the step cut one dialogue, and compare."""
    update = step(
        {
            "request": RememberRequest(user_id=USER),
            "run_id": f"bench-{dialogue.dialogue_id}",
            "session_id": dialogue.turns[0].session_id,
            "turns": dialogue.turns,
        }
    )
    ends = {event.turn_ids[-1] for event in update["events"]}
    predicted = [int(turn.turn_id in ends) for turn in dialogue.turns]
    return Cut(
        scores=score_dialogue(dialogue.boundaries, predicted),
        predicted=sum(predicted[:-1]),
        gold=sum(dialogue.boundaries[:-1]),
        failures=len(update.get("failures", [])),
        spent=spent(total(update["usage"])),
    )


def report(cuts: Sequence[Cut]) -> dict[str, object]:
    """Lay out the figures under the names of the command line's JSON."""
    return {
        **average([cut.scores for cut in cuts]).model_dump(),
        "dialogues": len(cuts),
        "boundaries": {"predicted": sum(cut.predicted for cut in cuts), "gold": sum(cut.gold for cut in cuts)},
        "failures": sum(cut.failures for cut in cuts),
        "usage": sum((cut.spent for cut in cuts), Spent()).model_dump(),
    }
