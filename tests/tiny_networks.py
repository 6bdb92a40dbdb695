"""Tiny BERTs with random weights, saved as the hub would give them."""

from pathlib import Path
from string import ascii_lowercase, digits

POSITIONS = 64


def save_network(folder: Path, head: str, labels: int) -> Path:
    """Save a network of transformers with a head, such as `BertForTokenClassification`, that reads 64 tokens."""
    import torch
    import transformers
    from transformers.utils import logging as progress

    progress.disable_progress_bar()
    markers = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*ascii_lowercase, *digits, *".,:?!'()[]"]
    vocabulary = [*markers, *pieces, *(f"##{piece}" for piece in pieces)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=POSITIONS, num_labels=labels, initializer_range=1.0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        network = getattr(transformers, head)(config)
    network.save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
