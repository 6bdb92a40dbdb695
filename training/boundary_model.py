"""Learn the weights of the boundary model from annotated dialogues, and write them where the package ships them.

python training/boundary_model.py DIALOGUES [--out FILE] [--encoder NAME]

DIALOGUES is JSON lines of utterances and boundaries (see `benchmarks/segmentation.py`). The same file gives the
same weights.
"""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from langgraph_engram.benchmarks.segmentation import read_dialogues
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.segmentation.boundary_model import WEIGHTS_FILE, BoundaryModel
from langgraph_engram.segmentation.features import FEATURES, Numbers, boundary_features
from langgraph_engram.text.dialogue_acts import read_cues
from training.logistic import fit_logistic
from training.varied_dialogues import Lesson, lessons_of

SEEDS = (3, 4, 5)
"""Each gives lessons of its own; what is learned is an average over chance."""
DIGITS = 5


def train(path: str | Path, encoder: Encoder) -> BoundaryModel:
    """Learn from a file of dialogues.

    Raises:
        InvalidInput: The file is not what it should be.
    """
    dialogues = read_dialogues(path)
    lessons = [lesson for seed in SEEDS for lesson in lessons_of(dialogues, Random(seed))]
    known = encode_texts(lessons, encoder)
    features, labels, weights = [], [], []
    for lesson in lessons:
        found = _features(lesson, known)
        kept = slice(-1, None) if lesson.only_last else slice(None)
        features.append(found[kept])
        labels.append(np.array(lesson.cuts[kept], dtype=np.float64))
        weights.append(np.full(len(labels[-1]), lesson.weight / len(SEEDS)))
    return fit(np.concatenate(features), np.concatenate(labels), np.concatenate(weights))


def encode_texts(lessons: Sequence[Lesson], encoder: Encoder) -> dict[str, Numbers]:
    """Encode each text once, as turns are indexed."""
    texts = sorted({_indexed(said) for lesson in lessons for said in lesson.said}, key=lambda text: (len(text), text))
    return dict(zip(texts, encoder.encode(texts).astype(np.float64), strict=True))


def fit(features: Numbers, labels: Numbers, weights: Numbers) -> BoundaryModel:
    """Fit a ridge logistic regression.

    Args:
        features: Of shape (gaps, len(FEATURES)).
        labels: 0 or 1, one a gap.
        weights: What each gap counts.

    Returns:
        The model, in the units of the features.
    """
    intercept, solution = fit_logistic(features, labels, weights)
    named = {name: round(float(value), DIGITS) for name, value in zip(FEATURES, solution, strict=True)}
    return BoundaryModel(round(intercept, DIGITS), named)


def write(model: BoundaryModel, path: Path) -> None:
    """Write a model as the package reads it."""
    stored = {"intercept": model.intercept, "weights": dict(model.weights)}
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Learn the weights of the boundary model.")
    parser.add_argument("dialogues", type=Path)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).resolve().parent.parent / "langgraph_engram" / "segmentation" / WEIGHTS_FILE,
    )
    parser.add_argument("--encoder", default=None)
    chosen = parser.parse_args(arguments)
    write(train(chosen.dialogues, open_encoder(chosen.encoder).inner), chosen.out)
    print(f"wrote {chosen.out}")


def _features(lesson: Lesson, known: dict[str, Numbers]) -> Numbers:
    vectors = np.stack([known[_indexed(said)] for said in lesson.said]).astype(np.float32)
    return boundary_features([read_cues(text) for _, text in lesson.said], vectors)


def _indexed(said: tuple[str, str]) -> str:
    speaker, text = said
    return f"{speaker}: {text}"


if __name__ == "__main__":
    main()
