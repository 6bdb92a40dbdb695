"""Learn kinds of sentences from invented ones, and write the weights where the package ships them.

python -m engram_lab.training.standing [--out FOLDER]    which statements are standing, and how broad a query is

`standing_sentences.jsonl` and `breadth_queries.jsonl` hold a label and a text a line. A text with "{topic}" is a frame:
it is filled with several of the texts labelled "topic", so that what a sentence is about says nothing about its kind.
The same sentences give the same weights. The encoder is MiniLM.
"""

import json
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engram_lab.training import SHIPPED
from engram_lab.training.logistic import fit_logistic, rounded, stored, write
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.extraction.standing import KINDS, WEIGHTS_FILE
from langgraph_engram.logistic import features_of, terms_of
from langgraph_engram.retrieval.queries import BROAD
from langgraph_engram.retrieval.queries import WEIGHTS_FILE as BREADTH_FILE

SENTENCES = Path(__file__).resolve().parent / "standing_sentences.jsonl"
QUERIES = SENTENCES.with_name("breadth_queries.jsonl")
SLOT = "{topic}"
FILLED = 12
"""Sentences made of one frame."""
FRAME_WEIGHT = 3.0
"""The weight of the sentences of a frame together; a sentence of its own has 1."""
PREFIXES = ("user: ", "Ana: ")
"""Names before the sentences, as records have them."""
LEAST_FOUND = 4
"""Sentences and frames from which a word or a pair of words is a feature."""
RIDGE = 30.0
DIGITS = 3


@dataclass(frozen=True)
class Example:
    """One sentence to learn from."""

    label: str
    text: str
    weight: float


def read_examples(path: Path = SENTENCES) -> tuple[list[Example], list[str]]:
    """Return the sentences, frames filled, and the texts of the file that are no topics."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
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


def frequent_terms(texts: Sequence[str]) -> list[str]:
    """Return the words and pairs of words that several texts hold, in order; topics are no words of a frame."""
    counts = Counter(term for text in texts for term in terms_of(text.replace(SLOT, " ")))
    return sorted(term for term, count in counts.items() if count >= LEAST_FOUND)


def train(
    encoder: Encoder, path: Path = SENTENCES, kinds: Sequence[str] = KINDS, prefixes: Sequence[str] = PREFIXES
) -> dict[str, object]:
    """Return an intercept and named weights for each kind."""
    examples, texts = read_examples(path)
    terms = frequent_terms(texts)
    said = [example.text for example in examples]
    vectors = [encoder.encode([f"{prefix}{text}" for text in said]) for prefix in prefixes]
    rows = np.concatenate([features_of(said, encoded, terms) for encoded in vectors])
    weights = np.array([example.weight for example in examples] * len(prefixes)) / len(prefixes)
    names = [*(str(column) for column in range(rows.shape[1] - len(terms))), *terms]
    learned: dict[str, object] = {}
    for kind in kinds:
        labels = np.array([example.label == kind for example in examples] * len(prefixes), dtype=np.float64)
        learned[kind] = stored(rounded(names, *fit_logistic(rows, labels, weights, RIDGE), DIGITS))
    return learned


def train_breadth(encoder: Encoder, path: Path = QUERIES) -> dict[str, object]:
    """Return an intercept and named weights for each kind of broad query; they are embedded as they are asked."""
    return train(encoder, path, BROAD, prefixes=("",))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line: learn both with MiniLM."""
    parser = ArgumentParser(description="Learn the weights that recognise standing statements and broad queries.")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    out, encoder = parser.parse_args(arguments).out, open_encoder(None).inner
    write(train(encoder), out / "extraction" / WEIGHTS_FILE, indent=0)
    write(train_breadth(encoder), out / "retrieval" / BREADTH_FILE, indent=0)


if __name__ == "__main__":
    main()
