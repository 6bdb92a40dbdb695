"""Measure how well the node `segment` finds topic boundaries in dialogues (SuperDialseg; Jiang et al., EMNLP 2023).

Each dialogue is one call of the node that the write graph runs, on an empty store. Its events are the predicted
segments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from statistics import fmean
from time import perf_counter

from langgraph_engram.benchmarks.harness import Progress, TokenUsage, needs_bench
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
LEAST_TURNS = 2
"""Turns of a dialogue that can hold a boundary."""
LEAST_WINDOW = 2
"""Turns of a window at least."""
USER = "bench"


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
        InvalidInput: A dialogue in it is not what it should be; the message names its index from 0.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    items = data if isinstance(data, list) else [data]
    return [_read_dialogue(item, number, name) for number, item in enumerate(items)]


def _read_dialogue(item: object, number: int, name: str) -> Dialogue:
    where = f"{name}: dialogue {number}"
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{where}: expected an object with utterances and boundaries, not {shown(item)}")
    dialogue_id = str(item.get("dialogue_id", number))
    try:
        messages = to_messages(item.get("utterances"))
    except InvalidMessages as error:
        raise InvalidInput(f"{where}: its utterances cannot be read: {error}") from error
    boundaries = item.get("boundaries")
    if not isinstance(boundaries, Sequence) or len(boundaries) != len(messages):
        raise InvalidInput(f"{where}: expected boundaries with {len(messages)} labels, not {shown(boundaries)}")
    if any(label not in (0, 1) for label in boundaries):
        raise InvalidInput(f"{where}: expected boundaries of 0 and 1, not {shown(boundaries)}")
    key = f"{number}:{dialogue_id}"
    turns = [_turn(key, seq, message) for seq, message in enumerate(messages)]
    return Dialogue(dialogue_id, turns, [int(label) for label in boundaries])


def _turn(session_id: str, seq: int, message: Message) -> Turn:
    return Turn(
        turn_id=make_id(session_id, seq),
        session_id=session_id,
        seq=seq,
        role="user" if ANSWERING.isdisjoint((message.role, message.speaker.casefold())) else "assistant",
        speaker=message.speaker,
        text=message.text,
        captions=message.captions,
        said_at=message.said_at,
    )


class SegmentationScores(Frozen):
    """How well boundaries were found; every figure is in [0, 1]."""

    pk: float
    """Share of windows that disagree on whether they hold a boundary; 0 is perfect."""
    wd: float
    """Share of windows that disagree on how many boundaries they hold; never below `pk`."""
    f1: float
    """F1 of the boundaries, at their exact positions."""
    score: float
    """(2 F1 + (1 - Pk) + (1 - WD)) / 4."""


def score_dialogue(gold: Sequence[int], predicted: Sequence[int]) -> SegmentationScores:
    """Score one dialogue.

    Args:
        gold: T labels, 0 or 1, with T at least 2; the last is taken as 0.
        predicted: As many labels.

    Raises:
        ValueError: The lengths differ, or there is but one turn.
        MissingExtra: NLTK, which computes Pk and WindowDiff, is not installed.
    """
    with needs_bench("Pk and WindowDiff"):
        from nltk.metrics.segmentation import pk as pk_penalty
        from nltk.metrics.segmentation import windowdiff
    if len(gold) != len(predicted) or len(gold) < LEAST_WINDOW:
        raise ValueError(f"cannot compare {len(gold)} labels with {len(predicted)}: give two or more of each")
    truth, guess = [*gold[:-1], 0], [*predicted[:-1], 0]
    width = window_width(truth)
    pk, wd = pk_penalty(truth, guess, width, 1), windowdiff(truth, guess, width, 1)
    f1 = boundary_f1(truth, guess)
    return SegmentationScores(pk=pk, wd=wd, f1=f1, score=(2 * f1 + (1 - pk) + (1 - wd)) / 4)


def average(scores: Sequence[SegmentationScores]) -> SegmentationScores:
    """Average over dialogues, each counting once (a macro average); at least one."""
    return SegmentationScores(
        pk=fmean(score.pk for score in scores),
        wd=fmean(score.wd for score in scores),
        f1=fmean(score.f1 for score in scores),
        score=fmean(score.score for score in scores),
    )


def window_width(gold: Sequence[int]) -> int:
    """Return k: half the mean length of a gold segment, in turns, at least 2; halves round to the even number."""
    return max(LEAST_WINDOW, round(len(gold) / (sum(gold) + 1) / 2))


def boundary_f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """Compute the F1 of labels that are 1; 0 where neither side has any."""
    shared = sum(wanted and found for wanted, found in zip(gold, predicted, strict=True))
    labels = sum(gold) + sum(predicted)
    return 2 * shared / labels if labels else 0.0


@dataclass(frozen=True)
class SegmentedDialogue:
    """One dialogue as the node segmented it."""

    scores: SegmentationScores
    predicted: int
    gold: int
    """Boundaries, the last turn left out."""
    failures: int
    usage: TokenUsage


def run_segmentation(
    path: str | PathLike[str],
    store: Store,
    model: Model,
    settings: SegmentSettings,
    limit: int | None = None,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure the node on a file of dialogues.

    Args:
        path: The file; it is read, never copied.
        store: An empty store; nothing is written to it.
        model: The model that answers the node's questions, where it has any.
        settings: How turns are segmented.
        limit: The first dialogues up to this number.
        progress: Called before each dialogue.

    Returns:
        The figures as plain JSON, averaged over the dialogues of two turns and more: rates in [0, 1].

    Raises:
        InvalidInput: No dialogue is left to measure, or one is not what it should be.
        UnreadableFile: The file is missing, or is not JSON.
    """
    dialogues = [dialogue for dialogue in read_dialogues(path)[:limit] if len(dialogue.turns) >= LEAST_TURNS]
    if not dialogues:
        raise InvalidInput(f"{path}: no dialogue of {LEAST_TURNS} utterances or more to measure")
    node = Segment(store, model, settings)
    started = perf_counter()
    results = []
    for number, dialogue in enumerate(dialogues):
        if progress:
            progress("segmenting", number, len(dialogues))
        results.append(_segment(node, dialogue))
    seconds = perf_counter() - started
    return {"strategy": settings.strategy, "model": model.name, **_report(results), "seconds": seconds}


def _segment(node: Segment, dialogue: Dialogue) -> SegmentedDialogue:
    """Segment one dialogue, and compare it with its labels."""
    update = node(
        {
            "request": RememberRequest(user_id=USER),
            "run_id": f"bench-{dialogue.dialogue_id}",
            "session_ids": [dialogue.turns[0].session_id],
            "turns": dialogue.turns,
        }
    )
    ends = {event.turn_ids[-1] for event in update["events"]}
    predicted = [int(turn.turn_id in ends) for turn in dialogue.turns]
    return SegmentedDialogue(
        scores=score_dialogue(dialogue.boundaries, predicted),
        predicted=sum(predicted[:-1]),
        gold=sum(dialogue.boundaries[:-1]),
        failures=len(update.get("failures", [])),
        usage=TokenUsage.of(total(update["usage"])),
    )


def _report(results: Sequence[SegmentedDialogue]) -> dict[str, object]:
    """Return the figures under the names of the command line's JSON."""
    return {
        **average([result.scores for result in results]).model_dump(),
        "dialogues": len(results),
        "boundaries": {
            "predicted": sum(result.predicted for result in results),
            "gold": sum(result.gold for result in results),
        },
        "failures": sum(result.failures for result in results),
        "usage": sum((result.usage for result in results), TokenUsage()).model_dump(),
    }
