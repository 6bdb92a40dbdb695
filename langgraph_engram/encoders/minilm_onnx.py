"""Adapt all-MiniLM-L6-v2 to the `Encoder` port through ONNX Runtime: torch's vectors at half the cost.

Torch is imported only where the ONNX file has to be made. This module does not know how a graph runs.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from langgraph_engram.encoder import Vectors
from langgraph_engram.encoders.minilm_graph import GraphFile
from langgraph_engram.encoders.minilm_network import Network, load_network
from langgraph_engram.encoders.minilm_space import PROOF_TEXTS, VECTOR_SPACE, proven
from langgraph_engram.encoders.minilm_weights import tokenizer_file
from langgraph_engram.errors import EncoderUnavailable

log = logging.getLogger(__name__)

MOST_THREADS = 4
"""Batches side by side unless told otherwise, on a machine that has as many cores."""


class OnnxMiniLM:
    """Encode with all-MiniLM-L6-v2 in ONNX Runtime. Building one is free; the first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None, *, cache: Path | None = None, threads: int | None = None) -> None:
        """Remember where to load from.

        Args:
            folder: A folder of weights; None for the installed package's, or the hub's.
            cache: Where an ONNX file made here is kept; None for the user's cache folder.
            threads: Batches encoded side by side; None for the cores this process may use, at most `MOST_THREADS`.
                One batch, and so one query, always takes one thread.
        """
        self._folder = folder
        self._graph = GraphFile(folder, cache)
        self._threads = threads or min(usable_cores(), MOST_THREADS)
        self._network: Network | None = None
        self._loading = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 word pieces are read. Many threads may call it at once.

        Returns:
            A float32 array of shape (len(texts), 384); each row has length 1.

        Raises:
            EncoderUnavailable: The first call found no weights, or wrong ones.
        """
        return self.load().encode(texts, self._threads)

    def is_at_hand(self) -> bool:
        """Say whether it can be loaded without the network."""
        return self._graph.is_at_hand()

    def load(self) -> Network:
        """Load the graph if it is not loaded: 0.3 s, or about 6 s where it has to be made first.

        Raises:
            EncoderUnavailable: A file or a package is missing, or is not what it should be.
        """
        with self._loading:
            if self._network is None:
                self._network = self._open()
            return self._network

    def _open(self) -> Network:
        tokenizer = tokenizer_file(self._folder)
        graph = self._graph.obtain()
        try:
            return open_network(graph, tokenizer)
        except ValueError as error:
            if graph != self._graph.kept:
                raise EncoderUnavailable(f"{error}; delete the file and try again") from error
            log.warning("making %s again: %s", graph, error)
        try:
            return open_network(self._graph.make(again=True), tokenizer)
        except ValueError as error:
            raise EncoderUnavailable(f'{error}; use the encoder "minilm:torch"') from error


def open_network(graph: Path, tokenizer: Path) -> Network:
    """Load a graph and prove it on texts whose similarities are known.

    Raises:
        EncoderUnavailable: A package is missing.
        ValueError: The graph cannot be loaded, or gives other vectors than it should.
    """
    try:
        network = load_network(graph, tokenizer)
    except ImportError as error:
        raise EncoderUnavailable(f"the package {error.name!r} is missing: `pip install {error.name}`") from error
    if not proven(network.encode(PROOF_TEXTS, threads=1)):
        raise ValueError(f"{str(graph)!r} does not give the vectors of {VECTOR_SPACE}")
    return network


def usable_cores() -> int:
    """Count the cores that this process may use, where the system says so; else those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
