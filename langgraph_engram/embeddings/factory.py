"""Open an encoder by the name that users give in settings, on the command line or in `ENGRAM_ENCODER`."""

from pathlib import Path

from langchain_core.embeddings import Embeddings

from langgraph_engram.embeddings.base import Encoder, HashingEncoder
from langgraph_engram.embeddings.caching import CachedEncoder
from langgraph_engram.embeddings.langchain import LangChainEncoder
from langgraph_engram.embeddings.minilm import MiniLM
from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.errors import InvalidSetting

NAMES = ("minilm", "minilm:onnx", "minilm:torch", "hashing")


def open_encoder(
    encoder: str | Path | Encoder | Embeddings | None = None, *, threads: int | None = None
) -> CachedEncoder:
    """Open an encoder, with a cache of recent vectors. Nothing heavy is loaded before its first `encode`.

    Args:
        encoder: None, "minilm" or "auto" for all-MiniLM-L6-v2 with the fastest available backend; "minilm:onnx" or
            "minilm:torch" for one of them; "hashing" for an encoder that needs no weights; a folder of
            all-MiniLM-L6-v2; an encoder; or a LangChain `Embeddings`.
        threads: Threads of all-MiniLM-L6-v2; None for the defaults of its backend.

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
        return _open_by_name(encoder, threads)
    if isinstance(encoder, Path):
        return _open_folder(encoder, threads)
    if isinstance(encoder, Embeddings):
        return LangChainEncoder(encoder)
    if callable(getattr(encoder, "encode", None)) and isinstance(getattr(encoder, "name", None), str):
        return encoder
    raise InvalidSetting(
        f"{type(encoder).__name__!r} is no encoder: it needs a `name` and `encode`, or to be a LangChain `Embeddings`"
    )


def _open_by_name(name: str, threads: int | None) -> Encoder:
    match name:
        case "" | "minilm" | "auto":
            return MiniLM(threads=threads)
        case "minilm:onnx":
            return OnnxMiniLM(threads=threads)
        case "minilm:torch":
            return TorchMiniLM(threads=threads or 1)
        case "hashing":
            return HashingEncoder()
    return _open_folder(Path(name).expanduser(), threads)


def _open_folder(folder: Path, threads: int | None) -> Encoder:
    if not folder.is_dir():
        raise InvalidSetting(
            f"unknown encoder {str(folder)!r}: choose {', '.join(NAMES)}, or a folder that holds all-MiniLM-L6-v2"
        )
    return MiniLM(folder, threads=threads)
