"""Measure how well the `segment` step finds where dialogues turn to something else (Jiang et al., EMNLP 2023).

Each dialogue is one call of the step that the write graph runs, on a store that holds nothing. The step's events are
the predicted segments. This module does not know how the step cuts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from time import perf_counter

from langgraph_engram.benchmarks.asking import Spent, spent
from langgraph_engram.benchmarks.door import Progress
from langgraph_engram.benchmarks.segmentation_data import Dialogue, read_dialogues
from langgraph_engram.benchmarks.segmentation_scores import SegmentationScores, average, score_dialogue
from langgraph_engram.errors import InvalidInput
from langgraph_engram.model import Model
from langgraph_engram.nodes.segmenting.segment import Segment
from langgraph_engram.settings import SegmentSettings
from langgraph_engram.state import RememberRequest
from langgraph_engram.stores.store import Store
from langgraph_engram.usage import total

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
