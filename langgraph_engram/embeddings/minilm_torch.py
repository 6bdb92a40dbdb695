"""Run all-MiniLM-L6-v2 in sentence-transformers and torch, imported at first use: for machines without ONNX Runtime."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.embeddings.minilm_weights import (
    DIMENSIONS,
    MAX_TOKENS,
    PROOF_TEXTS,
    REPOSITORY,
    VECTOR_SPACE,
    find_weights,
    matches_proof,
    replace_surrogates,
)
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class TorchMiniLM:
    """Encode with all-MiniLM-L6-v2 in torch. The first `encode` loads it: 5 s."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None) -> None:
        """Create an encoder of a folder of weights, or else of the installed package's or the hub's."""
        self._folder = folder
        self._transformer: SentenceTransformer | None = None
        self._lock = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 tokens are read. Calls from many threads take turns."""
        with self._lock:
            if self._transformer is None:
                self._transformer = _load(find_weights(self._folder))
            return _encode(self._transformer, texts)


def _load(folder: Path) -> "SentenceTransformer":
    from sentence_transformers import SentenceTransformer

    transformer = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    transformer.max_seq_length = MAX_TOKENS
    if not matches_proof(_encode(transformer, PROOF_TEXTS)):
        raise EncoderUnavailable(f"{str(folder)!r} does not give the vectors of {REPOSITORY}: restore its files")
    return transformer


def _encode(transformer: "SentenceTransformer", texts: Sequence[str]) -> Vectors:
    readable = [replace_surrogates(text) for text in texts]
    vectors = transformer.encode(readable, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float32).reshape(len(texts), DIMENSIONS)
