"""Measure how well the node `segment` finds topic boundaries in dialogues (SuperDialseg; Jiang et al., EMNLP 2023).

Each dialogue is one call of the node that the write graph runs, on an empty store. Its events are the predicted
segments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from statistics import fmean
from time import perf_counter

from nltk.metrics.segmentation import pk as pk_penalty
from nltk.metrics.segmentation import windowdiff

from engram_lab.harness import Figures, Progress, StrPath, cost
from langgraph_engram.errors import InvalidInput, InvalidMessages
from langgraph_engram.formats.files import decode, parse_json, read_bytes
from langgraph_engram.formats.messages import shown, to_messages
from langgraph_engram.graphs.write import write_parts
from langgraph_engram.llm.base import Model
from langgraph_engram.nodes.segment import Segment
from langgraph_engram.schema import Turn, make_id
from langgraph_engram.settings import Settings
from langgraph_engram.state import Message, RememberRequest, WriteState
from langgraph_engram.stores.base import Store

ANSWERING = frozenset({"assistant", "system", "wizard"})
"""Roles of the side that answers, and a name that only data sets give it; everybody else counts as a user."""
LEAST_TURNS = 2
"""Turns of a dialogue that can hold a boundary."""
LEAST_WINDOW = 2
USER = "bench"
Scores = dict[str, float]


@dataclass(frozen=True)
class Dialogue:
    """One dialogue and where its segments end."""

    dialogue_id: str
    turns: list[Turn]
    boundaries: list[int]
    """A label for each turn: 1 where a segment ends at it."""


def read_dialogues(path: StrPath) -> list[Dialogue]:
    """Read a file's dialogues, in order."""
    name = fspath(path)
    data = parse_json(decode(read_bytes(name), name), name)
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
    turns = [_turn(f"{number}:{dialogue_id}", seq, message) for seq, message in enumerate(messages)]
    return Dialogue(dialogue_id, turns, [int(label) for label in boundaries])


def _turn(session_id: str, seq: int, message: Message) -> Turn:
    answers = not ANSWERING.isdisjoint((message.role, message.speaker.casefold()))
    said = message.model_dump(include={"speaker", "text", "captions", "said_at"})
    role = "assistant" if answers else "user"
    return Turn(turn_id=make_id(session_id, seq), session_id=session_id, seq=seq, role=role, **said)


def score_dialogue(gold: Sequence[int], predicted: Sequence[int]) -> Scores:
    """Score one dialogue: Pk and WindowDiff (0 is perfect), F1 of the exact positions, and (2 F1 + 2 - Pk - WD) / 4."""
    if len(gold) != len(predicted) or len(gold) < LEAST_WINDOW:
        raise ValueError(f"cannot compare {len(gold)} labels with {len(predicted)}: give two or more of each")
    truth, guess = [*gold[:-1], 0], [*predicted[:-1], 0]
    width = window_width(truth)
    pk, wd = pk_penalty(truth, guess, width, 1), windowdiff(truth, guess, width, 1)
    f1 = boundary_f1(truth, guess)
    return {"pk": pk, "wd": wd, "f1": f1, "score": (2 * f1 + (1 - pk) + (1 - wd)) / 4}


def window_width(gold: Sequence[int]) -> int:
    """Return k: half the mean length of a gold segment, in turns, at least 2; halves round to the even number."""
    return max(LEAST_WINDOW, round(len(gold) / (sum(gold) + 1) / 2))


def boundary_f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """Compute the F1 of labels that are 1; 0 where neither side has any."""
    shared = sum(wanted and found for wanted, found in zip(gold, predicted, strict=True))
    labels = sum(gold) + sum(predicted)
    return 2 * shared / labels if labels else 0.0


def run_segmentation(
    path: StrPath, store: Store, model: Model, settings: Settings, limit: int | None = None, progress: Progress = None
) -> Figures:
    """Measure the node on a file of dialogues. Scores are averages over these, each counting once."""
    dialogues = [dialogue for dialogue in read_dialogues(path)[:limit] if len(dialogue.turns) >= LEAST_TURNS]
    if not dialogues:
        raise InvalidInput(f"{path}: no dialogue of {LEAST_TURNS} utterances or more to measure")
    node = Segment(store, write_parts(store, model, settings).segmenter)
    started = perf_counter()
    updates = []
    for number, dialogue in enumerate(dialogues):
        if progress:
            progress("segmenting", number, len(dialogues))
        updates.append(_segment(node, dialogue))
    pairs = [
        (dialogue.boundaries, _predicted(dialogue, update)) for dialogue, update in zip(dialogues, updates, strict=True)
    ]
    scores = [score_dialogue(gold, predicted) for gold, predicted in pairs]
    return {
        "model": model.name,
        **{name: fmean(score[name] for score in scores) for name in scores[0]},
        "dialogues": len(dialogues),
        "boundaries": {
            "predicted": sum(sum(predicted[:-1]) for _, predicted in pairs),
            "gold": sum(sum(gold[:-1]) for gold, _ in pairs),
        },
        "failures": sum(len(update.get("failures", [])) for update in updates),
        "usage": cost([entry for update in updates for entry in update["usage"]]),
        "seconds": perf_counter() - started,
    }


def _segment(node: Segment, dialogue: Dialogue) -> WriteState:
    return node(
        {
            "request": RememberRequest(user_id=USER),
            "tasks": [],
            "run_id": f"bench-{dialogue.dialogue_id}",
            "session_ids": [dialogue.turns[0].session_id],
            "turns": dialogue.turns,
        }
    )


def _predicted(dialogue: Dialogue, update: WriteState) -> list[int]:
    ends = {event.turn_ids[-1] for event in update["events"]}
    return [int(turn.turn_id in ends) for turn in dialogue.turns]
