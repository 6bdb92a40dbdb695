"""Make a token classifier of the right shape with random weights, and a vocabulary of letters."""

from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase, digits

import pytest

POSITIONS = 64


def save_classifier(folder: Path, labels: int = 2) -> Path:
    """Save a tiny BERT that predicts for each token whether it is kept, as the hub would give it."""
    import torch
    from transformers import BertConfig, BertForTokenClassification, BertTokenizerFast
    from transformers.utils import logging as progress

    progress.disable_progress_bar()
    pieces = [*ascii_lowercase, *digits, *".,?!'()[]"]
    markers = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = [*markers, *pieces, *(f"##{piece}" for piece in pieces)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=POSITIONS, num_labels=labels, initializer_range=1.0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        network = BertForTokenClassification(config)
    network.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    progress.enable_progress_bar()
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny classifier, which reads 64 tokens at once."""
    return save_classifier(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def save() -> Callable[..., Path]:
    """Save the tiny classifier into a folder."""
    return save_classifier
