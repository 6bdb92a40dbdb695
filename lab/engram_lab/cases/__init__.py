"""Read invented people, what they said in passing, and what they later ask, plan or remark on which it bears.

`people.jsonl` holds a person a line: sessions, each fact that was said with its kind and significance, and messages
with the facts that they need. `pairs.jsonl` holds a fact and a message on which it bears, `bearing.jsonl` a fact and
several. About every fourth person is held out: nothing is fitted to them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from langgraph_engram.formats.messages import Session, to_messages
from langgraph_engram.text.sentences import split_sentences

FOLDER = Path(__file__).resolve().parent
HASH_CHARACTERS = 16
Split = Literal["fit", "held-out"]
SAME = 30
"""Characters by which a sentence and a fact are recognised as the same."""


@dataclass(frozen=True)
class Said:
    """A sentence that somebody said, and what lasts of it."""

    text: str
    kind: str = ""
    """What it is good for later; empty where nothing lasts."""
    significance: int = 0
    """From 0 for nothing that lasts to 3 for what would do harm if it were ignored."""


def read_people(split: Split | None = None) -> list[dict[str, Any]]:
    """Return the people of a split, or all."""
    return [person for person in _lines("people.jsonl") if split is None or person["split"] == split]


def read_pairs() -> list[dict[str, str]]:
    """Return pairs of a `fact` and a later `message` on which it bears."""
    return _lines("pairs.jsonl")


def read_bearing() -> list[dict[str, Any]]:
    """Return facts, with `messages` on which each bears and sentences `beside` it, near to one of these and no help."""
    return _lines("bearing.jsonl")


def read_topics() -> dict[str, list[dict[str, Any]]]:
    """Return what values may change or are to be forgotten: how each is asked about and said, and its values."""
    topics: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "updates.json").read_text(encoding="utf-8"))
    return topics


def labelled_sentences(sessions: Iterable[Session]) -> Iterator[Said]:
    """Yield the sentences of some sessions that a person has labelled, each once."""
    texts = (message.text for session in sessions for message in session.messages if message.role == "user")
    for sentence, label in labelled((part.strip() for text in texts for part in split_sentences(text)), "labels.json"):
        yield Said(sentence, label[1], label[0])


def labelled(texts: Iterable[str], file: str) -> Iterator[tuple[str, Any]]:
    """Yield the texts that a person has labelled, each once, with the label.

    The file has the labels by a hash of the text: of LoCoMo, LongMemEval and BEAM, whose texts are not ours to give.
    """
    labels = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    for text in dict.fromkeys(texts):
        if label := labels.get(sha256(text.encode()).hexdigest()[:HASH_CHARACTERS]):
            yield text, label


def sentences_of(person: dict[str, Any]) -> Iterator[Said]:
    """Yield the sentences that a person said, and in a talk of two friends both of them."""
    for session in person["sessions"]:
        for turn in session["turns"]:
            if turn.get("role", "user") != "user":
                continue
            facts = [fact for fact in person["facts"] if fact["turn"] == turn["id"]]
            for sentence in map(str.strip, split_sentences(turn["text"])):
                fact = next((fact for fact in facts if is_same(fact["sentence"], sentence)), None)
                yield Said(sentence, fact["kind"], fact["significance"]) if fact else Said(sentence)


def is_same(fact: str, sentence: str) -> bool:
    """Return whether a sentence, or what a record says, is that of a fact."""
    return fact[:SAME] in sentence or sentence[:SAME] in fact


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def sessions_of(person: dict[str, Any], background: Sequence[Session] = ()) -> list[Session]:
    """Return the sessions of a person, or those of somebody else with these among them."""
    own = [_session(person, number) for number in range(len(person["sessions"]))]
    return among(background, own) if background else own


def among(background: Sequence[Session], own: Sequence[Session]) -> list[Session]:
    """Return sessions with others spread over them, each of which takes the time of the one before it."""
    step = len(background) / len(own)
    shared: list[Session] = []
    for number, session in enumerate(background):
        shared.append(session)
        said_at = session.messages[-1].said_at
        for due in (due for at, due in enumerate(own) if int(at * step) == number):
            moved = [message.model_copy(update={"said_at": said_at}) for message in due.messages]
            shared.append(Session(due.session_id, moved))
    return shared


def _session(person: dict[str, Any], number: int) -> Session:
    session = person["sessions"][number]
    turns = [
        {"external_id": turn["id"], "text": turn["text"], "said_at": f"{session['time']}+00:00"}
        | {name: turn[name] for name in ("speaker", "role") if name in turn}
        for turn in session["turns"]
    ]
    return Session(f"{person['id']}-{number}", to_messages(turns))
