"""Read the texts that the readings of MiniLM are learned from: statements, whose words they hold, and queries.

`*_sentences.jsonl` and `*_queries.jsonl` hold a label and a text a line. A text with "{topic}" is a frame: it is filled
with several of the texts labelled "topic", so that what a sentence is about says nothing about its kind. What lasts is
learned beside them from the people and pairs of `engram_lab.cases`, those that are held out left aside, and from
sentences of LoCoMo and LongMemEval that are labelled there. Nothing is learned from lines whose split is "held-out".
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from engram_lab.cases import Said, labelled, labelled_sentences, read_bearing, read_pairs, read_people, sentences_of
from langgraph_engram.extraction.lasting import LABELS, LASTS, PASSED_ON, Voiced, voiced_sentences
from langgraph_engram.formats.messages import Session
from langgraph_engram.retrieval.queries import BREADTHS, SORTS

FOLDER = Path(__file__).resolve().parent
SENTENCES = FOLDER / "lasting_sentences.jsonl"
VOICES = FOLDER / "voice_sentences.jsonl"
VOICED_MESSAGES = FOLDER / "voice_messages.jsonl"
"""Messages of invented authors, those of four held out; `words` stand in what looks like a wish, or is one."""
BREADTH_QUERIES = FOLDER / "breadth_queries.jsonl"
SORT_QUERIES = FOLDER / "sort_queries.jsonl"
HELD_OUT = "held-out"
"""The `split` of a line that nothing is fitted to."""
SLOT = "{topic}"
FILLED = 12
"""Sentences made of one frame."""
FRAME_WEIGHT = 3.0
"""The weight of the sentences of a frame together; a sentence of its own has 1."""
MESSAGE_WEIGHT = 3.0
"""The weight of a message that was written as a whole, beside what frames make."""
LED, GREETED = 4, 3
"""Wishes that each introduction leads to, and of how many filled frames one stands after an introduction."""
OTHER = "other"
VOICED = {"wish": "instruction", "own": OTHER}
"""What is learned of the voices' sentences; not of those that pass on a wish, whose words are a wish's."""
EACH, OTHERS_WEIGHT = 5, 0.3
"""Of the sentences that people say of themselves, each fifth is learned beside the wishes."""
HEARD_WEIGHT, OWN_WEIGHT, FRAMES_WEIGHT = 0.25, 2.0, 0.3
"""The weights of wishes among the frames of voices, of what authors say of themselves, and of all frames of voices."""
LABELLED_WEIGHT = 2.0
"""The weight of what people really said, or asked of a memory."""
LASTING = 2
"""Significance from which a sentence lasts."""
INSTRUCTION: tuple[str, ...] = LABELS[:1]
KINDS: tuple[str, ...] = LABELS[1:]


@dataclass(frozen=True)
class Example:
    """One sentence to learn from."""

    label: str
    text: str
    weight: float = 1.0


@dataclass(frozen=True)
class Labelled:
    """One text to learn from."""

    text: str
    labels: Mapping[tuple[str, ...], str]
    """Which of the labels of a group it has; of a group of one label perhaps none. Of other groups nothing is known."""
    weight: float = 1.0


def read_examples(path: Path) -> tuple[list[Example], list[str]]:
    """Return the sentences, frames filled, and the texts of the file that are no topics."""
    lines = [line for line in _lines(path) if line.get("split") != HELD_OUT]
    topics = [line["text"] for line in lines if line["label"] == "topic"]
    texts = [(line["label"], line["text"]) for line in lines if line["label"] != "topic"]
    examples: list[Example] = []
    for number, (label, text) in enumerate(texts):
        if SLOT not in text:
            examples.append(Example(label, text, 1.0))
            continue
        # 5 and 7 share no factor with one another: each frame gets other topics, far apart in the list.
        chosen = [topics[(5 * number + 7 * step) % len(topics)] for step in range(FILLED)]
        examples += [Example(label, text.replace(SLOT, topic), FRAME_WEIGHT / FILLED) for topic in chosen]
    return examples, [text for _, text in texts]


def read_held_out(path: Path) -> list[Example]:
    """Return the texts that are held out, on which what was learned is tried."""
    return [Example(line["label"], line["text"]) for line in _lines(path) if line.get("split") == HELD_OUT]


def statements(sessions: Iterable[Session] = ()) -> Iterator[Labelled]:
    """Yield sentences that say what lasts and what does not, and of what lasts the kind."""
    real = [Example(e.label, e.text, LABELLED_WEIGHT) for e in map(_example, labelled_sentences(sessions))]
    for example in [*read_examples(SENTENCES)[0], *said_in_passing(), *real]:
        kind = {KINDS: example.label} if example.label in KINDS else {}
        lasts = LASTS if example.label != OTHER else OTHER
        yield Labelled(example.text, {INSTRUCTION: example.label, (LASTS,): lasts} | kind, example.weight)
    for example in read_examples(VOICES)[0]:
        if example.label in VOICED:
            yield Labelled(example.text, {INSTRUCTION: VOICED[example.label]}, HEARD_WEIGHT * example.weight)
    for line, voiced in voiced_messages(held_out=False):
        if line["label"] == "own" and "form" in line:
            yield Labelled(voiced.text, {(LASTS,): LASTS}, OWN_WEIGHT)


def voices() -> Iterator[Labelled]:
    """Yield sentences, by what surrounds them, that pass on words of others (reports, tasks, roles), and own ones."""
    known = [*read_examples(SENTENCES)[0], *said_in_passing()]
    wishes = [example for example in known if example.label in INSTRUCTION]
    others = [Example(OTHER, example.text, OTHERS_WEIGHT) for example in [*wishes, *known[::EACH]]]
    for example in chain(surrounded_frames(), surrounded_messages(held_out=False), others):
        yield Labelled(example.text, {(PASSED_ON,): example.label}, example.weight)


def sorts() -> Iterator[Labelled]:
    """Yield questions about the past, messages, and those on which nothing bears."""
    examples = [*read_examples(SORT_QUERIES)[0], *messages()]
    examples += [Example("question", example.text, example.weight) for example in read_examples(BREADTH_QUERIES)[0]]
    for example in examples:
        yield Labelled(example.text, {SORTS: example.label}, example.weight)


def breadths(questions: Iterable[str] = ()) -> Iterator[Labelled]:
    """Yield queries by what of a memory they need; also some of these questions, those that are labelled."""
    known = [Example(label, text, LABELLED_WEIGHT) for text, label in labelled(questions, "queries.json")]
    for example in [*read_examples(BREADTH_QUERIES)[0], *known]:
        yield Labelled(example.text, {BREADTHS: example.label}, example.weight)


def surrounded_frames() -> Iterator[Example]:
    """Yield the frames of the voices filled, some after a sentence of a user's own, and wishes after the others."""
    lines = _lines(VOICES)
    topics, own = ([line["text"] for line in lines if line["label"] == label] for label in ("topic", "own"))
    for number, line in enumerate(line for line in lines if line["label"] != "topic"):
        wishes = [topics[(5 * number + 7 * step) % len(topics)] for step in range(FILLED // 2)]
        for step, wish in enumerate(wishes if SLOT in line["text"] else []):
            before = f"{own[(3 * number + step) % len(own)]} " if step % GREETED == GREETED - 1 else ""
            text = before + line["text"].replace(SLOT, wish)
            yield Example(line["label"], text, FRAMES_WEIGHT * FRAME_WEIGHT / len(wishes))
        for wish in wishes[:LED] if SLOT not in line["text"] else []:
            yield Example(
                line["label"], f"{line['text']} {wish[0].upper()}{wish[1:]}.", FRAMES_WEIGHT * FRAME_WEIGHT / LED
            )
        if line["label"] == "own":
            yield Example(line["label"], line["text"], FRAMES_WEIGHT)


def surrounded_messages(*, held_out: bool) -> Iterator[Example]:
    """Yield what looks like a wish in the messages of authors, with its surroundings."""
    for line, voiced in voiced_messages(held_out=held_out):
        yield Example(line["label"], voiced.surrounded, MESSAGE_WEIGHT)


def voiced_messages(*, held_out: bool) -> Iterator[tuple[dict[str, str], Voiced]]:
    """Yield the lines of the held-out messages, or of the others, and the sentence that holds the words of each."""
    for line in _lines(VOICED_MESSAGES):
        if (line.get("split") == HELD_OUT) == held_out:
            yield line, next(voiced for voiced in voiced_sentences(line["text"]) if line["words"] in voiced.text)


def _example(said: Said) -> Example:
    """Return what is learned from a sentence: what is minor does not last."""
    return Example(said.kind if said.significance >= LASTING else OTHER, said.text)


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def messages() -> Iterator[Example]:
    """Yield what people wrote to others; a follow-up that needs nothing is idle."""
    for pair in read_pairs()[::2]:
        yield Example("message", pair["message"])
    for message in (message for person in read_people("fit") for message in person["messages"]):
        is_question = message["type"] == "question"
        yield Example("question" if is_question else "message" if message["needs"] else "idle", message["text"])


def said_in_passing() -> Iterator[Example]:
    """Yield the sentences of people, and of pairs."""
    for person in read_people("fit"):
        for said in sentences_of(person):
            yield _example(said)
    for number, pair in enumerate(read_pairs()):
        yield Example(pair["kind"], pair["fact"])
        if pair["form"] == "assistant" and number % 2:
            yield Example(OTHER, pair["message"])
    for case in read_bearing():
        yield Example(case["kind"], case["fact"])
        if (first := case["messages"][0])["form"] == "assistant":
            yield Example(OTHER, first["text"])
