"""Open an encoder by the name that users give in settings, on the command line or in `ENGRAM_ENCODER`."""

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from langchain_core.embeddings import Embeddings

from langgraph_engram.embeddings.base import Encoder, HashingEncoder
from langgraph_engram.embeddings.caching import CachingEncoder
from langgraph_engram.embeddings.langchain import LangChainEncoder
from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting

NAMES = ("minilm", "minilm:onnx", "minilm:torch", "hashing")
OPENAI = "openai"
NO_KEY = "not-needed"
"""Sent to self-hosted servers, which take any key."""


def open_encoder(encoder: str | Path | Encoder | Embeddings | None = None) -> CachingEncoder:
    """Open an encoder, with a cache of recent vectors. Nothing heavy is loaded before its first `encode`.

    Args:
        encoder: None, "minilm", "minilm:onnx" or "auto" for all-MiniLM-L6-v2 in ONNX Runtime; "minilm:torch" for the
            same in sentence-transformers; "hashing" for an encoder that needs no weights; a folder of all-MiniLM-L6-v2;
            "openai:NAME" (OpenAI, or any server at `OPENAI_BASE_URL`); "PROVIDER:NAME" where
            `langchain` is installed; an encoder; or a LangChain `Embeddings`.

    Raises:
        InvalidSetting: It is none of these.
        EncoderUnavailable: A key or a package is missing.
    """
    return encoder if isinstance(encoder, CachingEncoder) else CachingEncoder(_open(encoder or "minilm"))


def _open(encoder: str | Path | Encoder | Embeddings) -> Encoder:
    if isinstance(encoder, str):
        return _open_by_name(encoder)
    if isinstance(encoder, Path):
        return _open_folder(encoder)
    if isinstance(encoder, Embeddings):
        return LangChainEncoder(encoder)
    if callable(getattr(encoder, "encode", None)) and isinstance(getattr(encoder, "name", None), str):
        return encoder
    raise InvalidSetting(
        f"{type(encoder).__name__!r} is no encoder: it needs a `name` and `encode`, or to be a LangChain `Embeddings`"
    )


def _open_by_name(name: str) -> Encoder:
    match name:
        case "minilm" | "minilm:onnx" | "auto":
            return OnnxMiniLM()
        case "minilm:torch":
            return TorchMiniLM()
        case "hashing":
            return HashingEncoder()
    folder = Path(name).expanduser()
    provider, _, model = name.partition(":")
    if provider and model and not folder.is_dir():
        return LangChainEncoder(_openai_embeddings(model) if provider == OPENAI else _by_langchain(name))
    return _open_folder(folder)


def _openai_embeddings(model: str) -> Embeddings:
    """Build embeddings of OpenAI, or of the OpenAI-compatible server at `OPENAI_BASE_URL`."""
    base_url = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    key = os.environ.get("OPENAI_API_KEY") or (NO_KEY if base_url else "")
    if not key:
        raise EncoderUnavailable(
            f"no key for the encoder 'openai:{model}': set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own"
        )
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    # Texts are short: cutting them by tokens first would need the model's tokenizer.
    return OpenAIEmbeddings(
        model=model, openai_api_key=SecretStr(key), openai_api_base=base_url, check_embedding_ctx_length=False
    )


def _by_langchain(name: str) -> Embeddings:
    if find_spec("langchain") is None:
        raise _unknown(name)
    try:
        embeddings: Embeddings = import_module("langchain.embeddings").init_embeddings(name)
    except ImportError as error:
        raise EncoderUnavailable(f"cannot open the encoder {name!r}: {error}") from error
    except ValueError as error:
        raise _unknown(name) from error
    return embeddings


def _open_folder(folder: Path) -> Encoder:
    if not folder.is_dir():
        raise _unknown(str(folder))
    return OnnxMiniLM(folder)


def _unknown(name: str) -> InvalidSetting:
    return InvalidSetting(
        f"unknown encoder {name!r}: choose {', '.join(NAMES)}, openai:NAME, embeddings of LangChain (PROVIDER:NAME), "
        "or a folder that holds all-MiniLM-L6-v2"
    )
