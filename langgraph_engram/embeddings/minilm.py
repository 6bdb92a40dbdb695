"""Choose how all-MiniLM-L6-v2 runs: in ONNX Runtime where its file can be had without the network, else in torch.

The network is used only where no weights are on the machine.

Making the ONNX file takes about a second once torch is imported, and torch alone would have to be imported as well: so
it pays on the first run already, and every later process starts in half a second instead of five.
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

log = logging.getLogger(__name__)


class MiniLM:
    """Encode with all-MiniLM-L6-v2 by the best means there is. Building one is free; the first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None, *, cache: Path | None = None, threads: int | None = None) -> None:
        """Remember where to load from.

        Args:
            folder: A folder of weights; None for the installed package's, or the hub's.
            cache: Where an ONNX file made here is kept; None for the user's cache folder.
            threads: As for `OnnxMiniLM` and `TorchMiniLM`; None for the default of each.
        """
        self._folder = folder
        self._onnx = OnnxMiniLM(folder, cache=cache, threads=threads)
        self._torch = TorchMiniLM(folder, threads=threads or 1)
        self._chosen: Encoder | None = None
        self._choosing = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 word pieces are read.

        Returns:
            A float32 array of shape (len(texts), 384); each row has length 1.

        Raises:
            EncoderUnavailable: The first call found no weights, or wrong ones.
        """
        return self.choose().encode(texts)

    def choose(self) -> Encoder:
        """Give the back end, chosen at the first call.

        Raises:
            EncoderUnavailable: There is none, or the weights are not right.
        """
        with self._choosing:
            if self._chosen is None:
                self._chosen = self._choose()
            return self._chosen

    def _choose(self) -> Encoder:
        local = weights_folder(self._folder) is not None
        if local and not self._onnx.is_at_hand():
            return self._torch
        try:
            self._onnx.load()
        except EncoderUnavailable as error:
            if not local:
                raise
            log.warning("all-MiniLM-L6-v2 runs in torch: %s", error)
            return self._torch
        return self._onnx
