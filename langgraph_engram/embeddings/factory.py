"""Open an encoder by name: what users write in settings, on the command line or in `ENGRAM_ENCODER`."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.caching import CachedEncoder
from langgraph_engram.embeddings.langchain import LangChainEncoder
from langgraph_engram.embeddings.minilm import MiniLM
from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.text.tokens import content_stems

NAMES = ("minilm", "minilm:onnx", "minilm:torch", "hashing")


def open_encoder(
    encoder: str | Path | Encoder | Embeddings | None = None, *, threads: int | None = None
) -> CachedEncoder:
    """Open an encoder, with a memory of what it encoded lately. Nothing heavy is loaded before its first `encode`.

    Args:
        encoder: None, "minilm" or "auto" for all-MiniLM-L6-v2 by the best means there is; "minilm:onnx" or
            "minilm:torch" for one of them; "hashing" for one that needs no weights; a folder of all-MiniLM-L6-v2; an
            encoder; or a LangChain `Embeddings`.
        threads: Threads of all-MiniLM-L6-v2; None for its own defaults.

    Raises:
        InvalidSetting: It is none of these.
    """
    if isinstance(encoder, CachedEncoder):
        return encoder
    return CachedEncoder(_open(encoder, threads))


def _open(encoder: str | Path | Encoder | Embeddings | None, threads: int | None) -> Encoder:
    if encoder is None:
        return MiniLM(threads=threads)
    if isinstance(encoder, str):
        return _by_name(encoder, threads)
    if isinstance(encoder, Path):
        return _in_folder(encoder, threads)
    if isinstance(encoder, Embeddings):
        return LangChainEncoder(encoder)
    if callable(getattr(encoder, "encode", None)) and isinstance(getattr(encoder, "name", None), str):
        return encoder
    raise InvalidSetting(
        f"{type(encoder).__name__!r} is no encoder: it needs a `name` and `encode`, or to be a LangChain `Embeddings`"
    )


def _by_name(name: str, threads: int | None) -> Encoder:
    match name:
        case "" | "minilm" | "auto":
            return MiniLM(threads=threads)
        case "minilm:onnx":
            return OnnxMiniLM(threads=threads)
        case "minilm:torch":
            return TorchMiniLM(threads=threads or 1)
        case "hashing":
            return HashingEncoder()
    return _in_folder(Path(name).expanduser(), threads)


def _in_folder(folder: Path, threads: int | None) -> Encoder:
    if not folder.is_dir():
        raise InvalidSetting(
            f"unknown encoder {str(folder)!r}: choose {', '.join(NAMES)}, or a folder that holds all-MiniLM-L6-v2"
        )
    return MiniLM(folder, threads=threads)


DIMENSIONS = 256


@lru_cache(maxsize=100_000)
def _hashed(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class HashingEncoder:
    """Encode by counting hashed content stems. The same on every machine; safe in many threads."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        """Choose how many dimensions the stems share; at least 1."""
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Give what identifies the vector space."""
        return f"hashing-{self._dimensions}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1, that of a text without content
            stems included.
        """
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature in content_stems(text):
                row[_hashed(feature) // 2 % self._dimensions] += 1 if _hashed(feature) % 2 else -1
            if not row.any():
                row[0] = 1  # no stems, or stems that cancel out: one direction for all of them
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
