"""Run all-MiniLM-L6-v2 with the fastest available backend: ONNX Runtime where its file needs no download, else torch.

Weights are downloaded only if there are none on the machine. Exporting the ONNX file takes about a second once torch is
imported, so it pays already on the first run, and every later process starts in half a second instead of five.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.embeddings.minilm_weights import VECTOR_SPACE, weights_folder
from langgraph_engram.errors import EncoderUnavailable

LOG = logging.getLogger(__name__)


class MiniLM:
    """Encode with all-MiniLM-L6-v2, with the fastest available backend. The first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None, *, cache: Path | None = None, threads: int | None = None) -> None:
        """Create an encoder; nothing is loaded yet.

        Args:
            folder: A folder of weights; None for the installed package's, or the hub's.
            cache: The folder of an exported ONNX file; None for the user's cache folder.
            threads: As for `OnnxMiniLM` and `TorchMiniLM`; None for the default of each.
        """
        self._folder = folder
        self._onnx = OnnxMiniLM(folder, cache=cache, threads=threads)
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
        return self.backend().encode(texts)

    def backend(self) -> Encoder:
        """Return the backend, chosen at the first call.

        Raises:
            EncoderUnavailable: There is none, or the weights are wrong.
        """
        with self._lock:
            if self._backend is None:
                self._backend = self._choose_backend()
            return self._backend

    def _choose_backend(self) -> Encoder:
        local = weights_folder(self._folder) is not None
        if local and not self._onnx.is_available_offline():
            return self._torch
        try:
            self._onnx.load()
        except EncoderUnavailable as error:
            if not local:
                raise
            LOG.warning("all-MiniLM-L6-v2 runs in torch: %s", error)
            return self._torch
        return self._onnx
