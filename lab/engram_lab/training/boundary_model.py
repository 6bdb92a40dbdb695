"""Learn the weights of the boundary model from annotated dialogues, and write them where the package ships them.

One regression sees all features, the other those of coherence alone.

python -m engram_lab.training.boundary_model DIALOGUES [--out FOLDER] [--encoder NAME]

DIALOGUES is JSON lines of utterances and boundaries (see `engram_lab.segmentation`). The same file gives the same
weights.
"""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np

from engram_lab.segmentation import read_dialogues
from engram_lab.training import SHIPPED
from engram_lab.training.augmentation import Example, make_examples
from engram_lab.training.logistic import fit_logistic, rounded, stored, write
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.logistic import LogisticRegression, Numbers
from langgraph_engram.segmentation.segmenter import COHERENCE_WEIGHTS_FILE, FEATURES, WEIGHTS_FILE, boundary_features
from langgraph_engram.text.questions import read_cues

SEEDS = (3, 4, 5)
"""Each augments the dialogues differently; the model is fitted on all of them."""
DIGITS = 5
COHERENCE_FEATURES = (
    "shared_stems", "coherence_1", "coherence_2", "coherence_3", "relative_coherence", "relative_depth",
    "is_minimum_1", "is_minimum_2", "across_later", "across_earlier", "coherence_ahead",
)  # fmt: skip
"""The features that tell how a gap coheres, whatever the kind of its turns."""
FEATURES_BY_FILE = {WEIGHTS_FILE: FEATURES, COHERENCE_WEIGHTS_FILE: COHERENCE_FEATURES}


def train(path: str | Path, encoder: Encoder) -> dict[str, LogisticRegression]:
    """Learn from a file of dialogues."""
    dialogues = read_dialogues(path)
    examples = [example for seed in SEEDS for example in make_examples(dialogues, Random(seed))]
    vectors = encode_texts(examples, encoder)
    rows = [_rows(example, vectors) for example in examples]
    features, labels, weights = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    return {file: fit(features, labels, weights, names) for file, names in FEATURES_BY_FILE.items()}


def encode_texts(examples: Sequence[Example], encoder: Encoder) -> dict[str, Numbers]:
    """Encode each text once, as turns are indexed."""
    said = {_indexed(turn) for example in examples for turn in example.turns}
    texts = sorted(said, key=lambda text: (len(text), text))
    return dict(zip(texts, encoder.encode(texts).astype(np.float64), strict=True))


def fit(features: Numbers, labels: Numbers, weights: Numbers, names: Sequence[str] = FEATURES) -> LogisticRegression:
    """Fit a ridge logistic regression to rows of all `FEATURES`, of which the model sees those that are named."""
    columns = [FEATURES.index(name) for name in names]
    return rounded(names, *fit_logistic(features[:, columns], labels, weights), DIGITS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Learn the weights of the boundary model.")
    parser.add_argument("dialogues", type=Path)
    parser.add_argument("--out", type=Path, default=SHIPPED / "segmentation")
    parser.add_argument("--encoder", default=None)
    chosen = parser.parse_args(arguments)
    for file, model in train(chosen.dialogues, open_encoder(chosen.encoder).inner).items():
        write(stored(model), chosen.out / file)


def _rows(example: Example, vectors: Mapping[str, Numbers]) -> tuple[Numbers, Numbers, Numbers]:
    """Return the features, labels and weights of the gaps of a dialogue that are learned from."""
    gaps = slice(-1, None) if example.only_last else slice(None)
    encoded = np.stack([vectors[_indexed(turn)] for turn in example.turns]).astype(np.float32)
    features = boundary_features([read_cues(text) for _, text in example.turns], encoded)[gaps]
    labels = np.array(example.cuts[gaps], dtype=np.float64)
    return features, labels, np.full(len(labels), example.weight / len(SEEDS))


def _indexed(turn: tuple[str, str]) -> str:
    speaker, text = turn
    return f"{speaker}: {text}"


if __name__ == "__main__":
    main()
