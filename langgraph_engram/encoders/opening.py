"""Open an encoder by name: what users write in settings, on the command line or in `ENGRAM_ENCODER`."""

from pathlib import Path

from langchain_core.embeddings import Embeddings

from langgraph_engram.encoder import Encoder
from langgraph_engram.encoders.cached import CachedEncoder
from langgraph_engram.encoders.langchain import LangChainEncoder
from langgraph_engram.encoders.minilm import MiniLM
from langgraph_engram.encoders.minilm_onnx import OnnxMiniLM
from langgraph_engram.encoders.minilm_torch import TorchMiniLM
from langgraph_engram.errors import InvalidSetting

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
            from langgraph_engram.encoders.hashing import HashingEncoder

            return HashingEncoder()
    return _in_folder(Path(name).expanduser(), threads)


def _in_folder(folder: Path, threads: int | None) -> Encoder:
    if not folder.is_dir():
        raise InvalidSetting(
            f"unknown encoder {str(folder)!r}: choose {', '.join(NAMES)}, or a folder that holds all-MiniLM-L6-v2"
        )
    return MiniLM(folder, threads=threads)
