"""Run all-MiniLM-L6-v2 in ONNX Runtime: the vectors of torch at half the cost, and torch is never imported.

The graph ships with the package and holds no weights (the lab's `minilm_graph` writes it). Those are mapped from the
file that torch would load, so nothing is exported, converted or cached (docs/decisions/0004). The encoders for ONNX of
sentence-transformers and chromadb would import torch, which takes 5 s, or download weights of their own.

The texts of a batch are packed: their tokens stand one after another in the layers, which take nearly all of the time,
and are padded to one length for the attention alone (docs/decisions/0004).
"""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.embeddings.minilm_weights import (
    DIMENSIONS,
    MAX_TOKENS,
    PROOF_TEXTS,
    TOKENIZER,
    VECTOR_SPACE,
    WEIGHTS,
    find_weights,
    matches_proof,
    replace_surrogates,
)
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


GRAPH_FILE = "minilm.onnx"
TOKENS, POSITIONS, SPREAD, PACK, PADDING, MEMBERS = "tokens", "positions", "spread", "pack", "padding", "members"
"""Inputs of the graph; see `pack`."""
VECTORS = "vectors"
"""Its output."""
HEADS = 12
"""Heads of the attention."""
UNUSED = ("__metadata__", "embeddings.position_ids", "pooler.")
"""How entries of the file of weights begin that the graph does not use."""
LENGTH_BYTES = 8
"""Bytes at the start of a safetensors file that give the length of its header."""
BATCH = 16
"""Texts of a batch at most: from 8 to 32 they cost the same, and memory grows with the number."""
MAX_PADDING = 8_192
"""Pairs of tokens of a batch of which one is padding, at most: they take as long as another batch needs to begin."""
MIN_SHARE = 128
"""Tokens that are worth a thread: 20 ms."""
NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Must be set before the import, or ONNX Runtime 1.29 and later reports each session to its makers."""
MAX_THREADS = 4
"""Concurrent batches, on a machine with as many cores. A query or a message is one batch."""


@dataclass(frozen=True)
class _Network:
    """A loaded graph and its tokenizer. Many threads may use it at once."""

    session: "InferenceSession"
    tokenizer: "Tokenizer"
    weights: dict[str, Vectors]
    """What the session may read from as long as it lives."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts in order, several batches at once, into an array of shape (len(texts), 384)."""
        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = min(cores, MAX_THREADS)
        tokens = [self.tokenizer.encode(replace_surrogates(text)).ids for text in texts]
        batches = make_batches([len(ids) for ids in tokens], threads)
        with ThreadPoolExecutor(threads) as pool:
            run = map if len(batches) == 1 else pool.map  # no thread is started for a single one
            rows = list(run(self._run, [[tokens[index] for index in batch] for batch in batches]))
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        vectors[np.concatenate(batches)] = np.concatenate(rows)
        return vectors

    def _run(self, batch: list[list[int]]) -> Vectors:
        (vectors,) = self.session.run([VECTORS], pack(batch))
        return np.asarray(vectors)


class OnnxMiniLM:
    """Encode with all-MiniLM-L6-v2 in ONNX Runtime. The first `encode` loads it."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._network: _Network | None = None
        self._lock = Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 tokens are read. Many threads may call it at once.

        Raises:
            EncoderUnavailable: The first call found no weights, or wrong ones; or ONNX Runtime cannot run them.
        """
        with self._lock:
            if self._network is None:
                self._network = _open_network(find_weights(self._folder))
        return self._network.encode(texts)


def make_batches(lengths: Sequence[int], threads: int) -> list[list[int]]:
    """Split texts of these numbers of tokens into batches of their indices, none above a thread's share.

    The longest come first, so that threads finish at about the same time.
    """
    limit = min(BATCH, -(-len(lengths) // max(1, min(threads, sum(lengths) // MIN_SHARE))))
    batches: list[list[int]] = []
    padding = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        padding += lengths[batches[-1][0]] ** 2 - lengths[index] ** 2 if batches else 0
        if batches and len(batches[-1]) < limit and padding <= MAX_PADDING:
            batches[-1].append(index)
        else:
            batches.append([index])
            padding = 0
    return batches


def pack(texts: Sequence[Sequence[int]]) -> dict[str, NDArray[Any]]:
    """Return the inputs of the graph for the tokens of texts, n texts of t tokens in all, the longest of l.

    Returns:
        The tokens and their positions in their texts, of shape (t,). Where each head of each token of a padded text is
        among the heads of all tokens, of shape (n, heads, l), and the reverse, of shape (t, heads). 1 for padding, of
        shape (n, l), and for the tokens of each text, of shape (n, t).
    """
    lengths = np.array([len(tokens) for tokens in texts])
    is_token = np.arange(lengths.max()) < lengths[:, None]
    members, positions = np.nonzero(is_token)
    rows = np.zeros(is_token.shape, dtype=np.int64)
    rows[is_token] = np.arange(len(members))
    heads = np.arange(HEADS)
    return {
        TOKENS: np.concatenate([np.array(tokens, dtype=np.int64) for tokens in texts]),
        POSITIONS: positions,
        SPREAD: rows[:, None] * HEADS + heads[:, None],
        PACK: (members[:, None] * HEADS + heads) * is_token.shape[1] + positions[:, None],
        PADDING: (~is_token).astype(np.float32),
        MEMBERS: (members == np.arange(len(texts))[:, None]).astype(np.float32),
    }


def map_weights(path: Path) -> dict[str, Vectors]:
    """Map the tensors that the graph uses from a safetensors file, unread; raise ValueError if it is none or cut."""
    content = np.memmap(path, mode="r")
    start = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES].tobytes(), "little")
    tensors: dict[str, Vectors] = {}
    for name, tensor in json.loads(content[LENGTH_BYTES:start].tobytes()).items():
        if not name.startswith(UNUSED):
            first, end = tensor["data_offsets"]
            tensors[name] = content[start + first : start + end].view(np.float32).reshape(tensor["shape"])
    return tensors


def _open_network(folder: Path) -> _Network:
    """Load the graph with the weights in `folder`: about 0.2 s. Check it on texts whose similarities are published."""
    os.environ.setdefault(NO_TELEMETRY, "1")
    try:
        from onnxruntime import InferenceSession, OrtValue, SessionOptions
        from onnxruntime.capi import onnxruntime_pybind11_state as errors
        from tokenizers import Tokenizer
    except ImportError as error:
        raise EncoderUnavailable(
            f"cannot import ONNX Runtime: {error}; `pip install onnxruntime tokenizers`, or use 'minilm:torch'"
        ) from error
    broken = (errors.InvalidArgument, errors.InvalidProtobuf, errors.InvalidGraph, errors.Fail, errors.NotImplemented)
    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    try:
        weights = map_weights(folder / WEIGHTS)
        values = [OrtValue.ortvalue_from_numpy(row) for row in weights.values()]
        options.add_external_initializers(list(weights), values)
        graph = files(__package__).joinpath(GRAPH_FILE).read_bytes()
        session = InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except (ValueError, *broken) as error:
        raise EncoderUnavailable(f"cannot load {str(folder / WEIGHTS)!r} into ONNX Runtime: {error}") from error
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    network = _Network(session, tokenizer, weights)
    if not matches_proof(network.encode(PROOF_TEXTS)):
        raise EncoderUnavailable(f"{str(folder)!r} does not give the vectors of {VECTOR_SPACE} in ONNX Runtime")
    return network
