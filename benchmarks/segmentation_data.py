"""Read dialogues whose segments are known: JSON lines of utterances and boundaries, as SuperDialseg and TIAGE are kept.

Each line holds `utterances`, a list of {"speaker", "text"}, and `boundaries`, 1 where a segment ends at the utterance.
This module does not know how a segmentation is made or scored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from langgraph_engram.errors import InvalidInput, InvalidMessages
from langgraph_engram.formats.fields import shown
from langgraph_engram.formats.json_text import parse_json, read_file
from langgraph_engram.formats.messages import to_messages
from langgraph_engram.schema import Turn, make_id
from langgraph_engram.state import Message

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
