"""Run all-MiniLM-L6-v2 in sentence-transformers and torch, both imported at first use.

Torch's own default of one thread a core is slow on a busy machine (a query took 96 ms with two threads and 30 ms with
one), so the default here is one thread. Torch's global settings are restored after each call.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.embeddings.minilm_weights import (
    MAX_TOKENS,
    PROOF_TEXTS,
    REPOSITORY,
    VECTOR_SPACE,
    empty_vectors,
    find_weights,
    matches_proof,
    replace_surrogates,
)
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


BATCH = 16


class TorchMiniLM:
    """Encode with all-MiniLM-L6-v2 in torch. The first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None, *, threads: int = 1) -> None:
        """Create an encoder; nothing is loaded yet.

        Args:
            folder: A folder of weights; None for the installed package's, or the hub's.
            threads: Threads that torch may use inside an operator.
        """
        self._folder = folder
        self._threads = threads
        self._transformer: SentenceTransformer | None = None
        self._lock = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 tokens are read. Calls from many threads take turns.

        Returns:
            A float32 array of shape (len(texts), 384); each row has length 1.

        Raises:
            EncoderUnavailable: The first call found no weights or no torch, or wrong weights.
        """
        if not texts:
            return empty_vectors()
        with self._lock:
            if self._transformer is None:
                self._transformer = self._load()
            return self._encode(self._transformer, texts)

    def _encode(self, transformer: "SentenceTransformer", texts: Sequence[str]) -> Vectors:
        with torch_threads(self._threads):
            vectors = transformer.encode(
                [replace_surrogates(text) for text in texts],
                batch_size=BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)

    def _load(self) -> "SentenceTransformer":
        folder = find_weights(self._folder)
        try:
            transformer = _open_transformer(folder)
        except ImportError as error:
            raise EncoderUnavailable(f"the package {error.name!r} is missing: `pip install {error.name}`") from error
        if not matches_proof(self._encode(transformer, PROOF_TEXTS)):
            raise EncoderUnavailable(f"{str(folder)!r} does not give the vectors of {REPOSITORY}: restore its files")
        return transformer


def _open_transformer(folder: Path) -> "SentenceTransformer":
    """Load a folder of weights without progress bars and without the network: about 5 s.

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
    transformer.max_seq_length = MAX_TOKENS
    return transformer


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads inside an operator within this context."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
