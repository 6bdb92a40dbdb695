"""Learn what lasts of what is said, whose words it holds, how broad a query is and its sort, and write the weights.

python -m engram_lab.training.sentences [--sorts] [--out FOLDER]
    [--locomo FILE] [--longmemeval FILE ...] [--beam FILE ...]

`*_sentences.jsonl` and `*_queries.jsonl` hold a label and a text a line. A text with "{topic}" is a frame: it is filled
with several of the texts labelled "topic", so that what a sentence is about says nothing about its kind. What lasts is
learned beside them from the people and pairs of `engram_lab.cases`, those that are held out left aside, and from the
sentences of these files that are labelled there. Nothing is fitted to lines whose split is "held-out": they are tried
afterwards. The same sentences give the same weights. The encoder is MiniLM.
"""

import json
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from engram_lab.cases import Said, labelled, labelled_sentences, read_pairs, read_people, sentences_of
from engram_lab.datasets import Conversation, read_beam, read_locomo, read_longmemeval
from engram_lab.training import SHIPPED
from engram_lab.training.logistic import fit_logistic, rounded, stored, write
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.extraction.lasting import (
    LABELS,
    LASTS,
    PASSED_ON,
    VOICE_FILE,
    WEIGHTS_FILE,
    Voiced,
    voiced_sentences,
)
from langgraph_engram.formats.messages import Session
from langgraph_engram.logistic import LogisticRegression, TextClassifier, features_of, terms_of
from langgraph_engram.retrieval.queries import BREADTH_FILE, BROAD, SORT_FILE, SORTS

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
PREFIXES = ("user: ", "Ana: ")
"""Names before the sentences, as records have them."""
LEAST_FOUND = 4
"""Sentences and frames from which a word or a pair of words is a feature."""
OFTEN_FOUND = 12
"""The same where there are thousands of sentences."""
VOICE_FOUND = 8
"""The same of sentences with what surrounds them."""
MESSAGE_WEIGHT = 8.0
"""The weight of a message that was written as a whole, beside what frames make."""
LED, GREETED = 4, 3
"""Wishes that each introduction leads to, and of how many filled frames one stands after an introduction."""
RIDGE = 30.0
DIGITS = 3
OTHER = "other"
VOICED = {"wish": "instruction", "own": OTHER}
"""What is learned of the voices' sentences; not of those that pass on a wish, whose words are a wish's."""
EACH, OTHERS_WEIGHT = 5, 0.3
"""Of the sentences that people say of themselves, each fifth is learned beside the wishes."""
LABELLED_WEIGHT = 2.0
"""The weight of a question that people really asked of a memory."""
LASTING = 2
"""Significance from which a sentence lasts."""
VECTOR_RIDGE, TERM_RIDGE = 1.0, 8.0
"""The strengths for what lasts, where rare words would else tell too much."""


@dataclass(frozen=True)
class Example:
    """One sentence to learn from."""

    label: str
    text: str
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


def frequent_terms(texts: Sequence[str], least: int) -> list[str]:
    """Return the words and pairs of words that several texts hold, in order; topics are no words of a frame."""
    counts = Counter(term for text in texts for term in terms_of(text.replace(SLOT, " ")))
    return sorted(term for term, count in counts.items() if count >= least)


def train(
    encoder: Encoder,
    examples: Sequence[Example],
    terms: Sequence[str],
    kinds: Sequence[str],
    prefixes: Sequence[str] = ("",),
    *,
    scaled: bool = True,
) -> dict[str, object]:
    """Return an intercept and named weights for each kind; each text is embedded behind one of the prefixes."""
    said = [example.text for example in examples]
    vectors = encoder.encode([f"{prefixes[n % len(prefixes)]}{text}" for n, text in enumerate(said)])
    rows = features_of(said, vectors, terms)
    weights = np.array([example.weight for example in examples])
    ridge = np.repeat([VECTOR_RIDGE, TERM_RIDGE], [rows.shape[1] - len(terms), len(terms)])
    names = [*(str(column) for column in range(rows.shape[1] - len(terms))), *terms]
    learned: dict[str, object] = {}
    found = np.array([example.label for example in examples])
    for kind in kinds:
        fitted = fit_logistic(rows, (found == kind) * 1.0, weights, RIDGE if scaled else ridge, scaled=scaled)
        learned[kind] = stored(rounded(names, *fitted, DIGITS))
    return learned


def train_breadth(encoder: Encoder, questions: Iterable[str] = ()) -> dict[str, object]:
    """Learn what of a memory a query needs, also from those of some questions that are labelled."""
    examples, texts = read_examples(BREADTH_QUERIES)
    known = [Example(label, text, LABELLED_WEIGHT) for text, label in labelled(questions, "queries.json")]
    examples, terms = [*examples, *known], frequent_terms([*texts, *(example.text for example in known)], LEAST_FOUND)
    whole = [Example("narrow" if e.label == "narrow" else BROAD[0], e.text, e.weight) for e in examples]
    return {
        **train(encoder, whole, terms, BROAD[:1], scaled=False),
        **train(encoder, examples, terms, BROAD[1:], scaled=False),
    }


def train_sorts(encoder: Encoder) -> dict[str, object]:
    """Learn whether a query is a question about the past, a message, or idle."""
    examples, _ = read_examples(SORT_QUERIES)
    examples += [Example("question", example.text, example.weight) for example in read_examples(BREADTH_QUERIES)[0]]
    examples += list(messages())
    return train(encoder, examples, frequent_terms([example.text for example in examples], OFTEN_FOUND), SORTS)


def read_held_out(path: Path) -> list[Example]:
    """Return the texts that are held out, on which what was learned is tried."""
    return [Example(line["label"], line["text"]) for line in _lines(path) if line.get("split") == HELD_OUT]


def confusion(encoder: Encoder, learned: dict[str, Any], held_out: Sequence[Example]) -> dict[str, dict[str, int]]:
    """Return how many texts of each label are taken for each by the regressions alone: the likeliest of the three."""
    texts = [example.text for example in held_out]
    classifier = TextClassifier(
        [LogisticRegression(tuple(learned[sort]["weights"]), **learned[sort]) for sort in SORTS]
    )
    chances = classifier.probabilities(texts, encoder.encode(texts))
    labels: list[str] = [*SORTS, "question"]
    counts = {label: dict.fromkeys(labels, 0) for label in labels}
    for example, found in zip(
        held_out, np.column_stack([chances, 1 - chances.sum(axis=1)]).argmax(axis=1), strict=True
    ):
        counts[example.label][labels[found]] += 1
    return counts


def train_lasting(encoder: Encoder, sessions: Iterable[Session] = ()) -> dict[str, object]:
    """Learn what lasts and what is an instruction among all that is said, and the kinds of what lasts."""
    examples, texts = read_examples(SENTENCES)
    said = [*examples, *said_in_passing(), *map(_example, labelled_sentences(sessions))]
    terms = frequent_terms([*texts, *(example.text for example in said[len(examples) :])], OFTEN_FOUND)
    lasts = [Example(OTHER if example.label == OTHER else LASTS, example.text, example.weight) for example in said]
    kept = [example for example in said if example.label != OTHER]
    heard = [Example(VOICED[e.label], e.text, e.weight) for e in read_examples(VOICES)[0] if e.label in VOICED]
    return {
        **train(encoder, [*said, *heard], terms, ["instruction"], PREFIXES),
        **train(encoder, kept, terms, [kind for kind in LABELS if kind != "instruction"], PREFIXES, scaled=False),
        **train(encoder, lasts, terms, [LASTS], PREFIXES, scaled=False),
    }


def train_voices(encoder: Encoder) -> dict[str, object]:
    """Learn which sentences, by what surrounds them, pass on words of others: reports, tasks on a text, roles."""
    known = [*read_examples(SENTENCES)[0], *said_in_passing()]
    wishes = [example for example in known if example.label == "instruction"]
    said = [*surrounded_frames(), *surrounded_messages(held_out=False)]
    said += [Example(OTHER, e.text, OTHERS_WEIGHT) for e in [*wishes, *known[::EACH]]]
    terms = frequent_terms(sorted({example.text for example in said}), VOICE_FOUND)
    return train(encoder, said, terms, [PASSED_ON], PREFIXES[:1], scaled=False)


def surrounded_frames() -> Iterator[Example]:
    """Yield the frames of the voices filled, some after a sentence of a user's own, and wishes after the others."""
    lines = _lines(VOICES)
    topics, own = ([line["text"] for line in lines if line["label"] == label] for label in ("topic", "own"))
    for number, line in enumerate(line for line in lines if line["label"] != "topic"):
        wishes = [topics[(5 * number + 7 * step) % len(topics)] for step in range(FILLED // 2)]
        for step, wish in enumerate(wishes if SLOT in line["text"] else []):
            before = f"{own[(3 * number + step) % len(own)]} " if step % GREETED == GREETED - 1 else ""
            text = before + line["text"].replace(SLOT, wish)
            yield Example(line["label"], text, FRAME_WEIGHT / len(wishes))
        for wish in wishes[:LED] if SLOT not in line["text"] else []:
            yield Example(line["label"], f"{line['text']} {wish[0].upper()}{wish[1:]}.", FRAME_WEIGHT / LED)
        if line["label"] == "own":
            yield Example(line["label"], line["text"])


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line: learn all with MiniLM."""
    parser = ArgumentParser(description="Learn the weights that tell what lasts, and kinds of queries.")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--locomo", type=Path, default=None)
    parser.add_argument("--longmemeval", type=Path, nargs="*", default=[])
    parser.add_argument("--beam", type=Path, nargs="*", default=[])
    parser.add_argument("--sorts", action="store_true", help="learn the sorts of queries alone")
    chosen = parser.parse_args(arguments)
    talks: list[Conversation[Any]] = [*(read_locomo(chosen.locomo) if chosen.locomo else [])]
    talks += chain(*map(read_longmemeval, chosen.longmemeval))
    sessions = [session for talk in talks for session in talk.sessions]
    questions = [asked.question for talk in chain(talks, *map(read_beam, chosen.beam)) for asked in talk.questions]
    out, encoder = chosen.out, open_encoder(None).inner
    if not chosen.sorts:
        write(train_lasting(encoder, sessions), out / "extraction" / WEIGHTS_FILE, indent=0)
        write(train_voices(encoder), out / "extraction" / VOICE_FILE, indent=0)
        write(train_breadth(encoder, questions), out / "retrieval" / BREADTH_FILE, indent=0)
    sorts = train_sorts(encoder)
    write(sorts, out / "retrieval" / SORT_FILE, indent=0)
    print(f"of the sorts held out: {confusion(encoder, sorts, read_held_out(SORT_QUERIES))}")


if __name__ == "__main__":
    main()
