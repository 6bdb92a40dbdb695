"""Adapt all-MiniLM-L6-v2 to the `Encoder` port through sentence-transformers and torch, both imported at first use.

Torch's own default of one thread a core is a trap on a busy machine (a query took 96 ms with two threads and 30 ms with
one), so one is used unless told otherwise. Torch's settings are left as they were found.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.embeddings.minilm_weights import (
    MAX_PIECES,
    PROOF_TEXTS,
    REPOSITORY,
    VECTOR_SPACE,
    check_weights,
    download_weights,
    no_vectors,
    proven,
    readable,
    tokenizer_file,
    weights_folder,
)
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


BATCH = 16


class TorchMiniLM:
    """Encode with all-MiniLM-L6-v2 in torch. Building one is free; the first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None, *, threads: int = 1) -> None:
        """Remember where to load from.

        Args:
            folder: A folder of weights; None for the installed package's, or the hub's.
            threads: Threads that torch may use inside an operator.
        """
        self._folder = folder
        self._threads = threads
        self._transformer: SentenceTransformer | None = None
        self._busy = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 word pieces are read. Calls from many threads take turns.

        Returns:
            A float32 array of shape (len(texts), 384); each row has length 1.

        Raises:
            EncoderUnavailable: The first call found no weights or no torch, or wrong weights.
        """
        if not texts:
            return no_vectors()
        with self._busy:
            if self._transformer is None:
                self._transformer = self._load()
            return self._encode(self._transformer, texts)

    def _encode(self, transformer: "SentenceTransformer", texts: Sequence[str]) -> Vectors:
        with torch_threads(self._threads):
            vectors = transformer.encode(
                [readable(text) for text in texts],
                batch_size=BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)

    def _load(self) -> "SentenceTransformer":
        folder = weights_folder(self._folder) or download_weights()
        check_weights(folder)
        tokenizer_file(folder)
        try:
            transformer = open_transformer(folder)
        except ImportError as error:
            raise EncoderUnavailable(f"the package {error.name!r} is missing: `pip install {error.name}`") from error
        if not proven(self._encode(transformer, PROOF_TEXTS)):
            raise EncoderUnavailable(f"{str(folder)!r} does not give the vectors of {REPOSITORY}: restore its files")
        return transformer


def open_transformer(folder: Path) -> "SentenceTransformer":
    """Load a folder of weights without a word on standard error and without the network: about 5 s.

    Raises:
        ImportError: Torch or sentence-transformers is missing.
    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as progress

    shown = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    try:
        transformer = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    finally:
        if shown:
            progress.enable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    transformer.max_seq_length = MAX_PIECES
    return transformer


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads inside an operator, and as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
