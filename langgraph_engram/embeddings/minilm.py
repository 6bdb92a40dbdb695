"""Run all-MiniLM-L6-v2 in ONNX Runtime, or in sentence-transformers where ONNX Runtime cannot run it."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.embeddings.minilm_weights import VECTOR_SPACE, empty_vectors, find_weights, installed_weights
from langgraph_engram.errors import EncoderUnavailable

LOG = logging.getLogger(__name__)


class MiniLM:
    """Encode with all-MiniLM-L6-v2, with the fastest available backend. The first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None, *, threads: int | None = None) -> None:
        """Create an encoder; nothing is loaded yet.

        Args:
            folder: A folder of weights; None for the installed package's, or the hub's.
            threads: As for `OnnxMiniLM` and `TorchMiniLM`; None for the default of each.
        """
        self._folder = folder
        self._onnx = OnnxMiniLM(folder, threads=threads)
        self._torch = TorchMiniLM(folder, threads=threads or 1)
        self._backend: Encoder | None = None
        self._lock = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 tokens are read.

        Returns:
            A float32 array of shape (len(texts), 384); each row has length 1.

        Raises:
            EncoderUnavailable: The first call found no weights, or wrong ones.
        """
        return self.backend().encode(texts) if texts else empty_vectors()

    def backend(self) -> Encoder:
        """Return the backend, chosen at the first call.

        Raises:
            EncoderUnavailable: There are no weights, or wrong ones.
        """
        with self._lock:
            if self._backend is None:
                self._backend = self._choose_backend()
            return self._backend

    def start_loading(self) -> Thread:
        """Load the backend in a thread, unless the weights would have to be downloaded first.

        What fails there fails again when the encoder is first used, and is said then.

        Returns:
            The thread.
        """
        thread = Thread(target=self._load_installed)
        thread.start()
        return thread

    def _load_installed(self) -> None:
        with suppress(Exception):
            if self._folder or installed_weights():
                self.backend()

    def _choose_backend(self) -> Encoder:
        find_weights(self._folder)
        try:
            self._onnx.load()
        except EncoderUnavailable as error:
            LOG.warning("all-MiniLM-L6-v2 runs in sentence-transformers, which is slower: %s", error)
            return self._torch
        return self._onnx
