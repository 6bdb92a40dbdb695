"""Open an encoder by the name that users give in settings, on the command line or in `ENGRAM_ENCODER`, or wrap one.

Any LangChain `Embeddings` is an encoder too. The port has one way to encode, so queries pass through `embed_documents`
like texts.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

from langgraph_engram.embeddings.base import CachingEncoder, Encoder, HashingEncoder, Vectors
from langgraph_engram.embeddings.minilm import OnnxMiniLM, TorchMiniLM
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting

NAMES = ("minilm", "minilm:onnx", "minilm:torch", "hashing")


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
    match encoder:
        case "minilm" | "minilm:onnx" | "auto":
            return OnnxMiniLM()
        case "minilm:torch":
            return TorchMiniLM()
        case "hashing":
            return HashingEncoder()
        case str() | Path():
            return _open_named(encoder)
        case Embeddings():
            return LangChainEncoder(encoder)
    if callable(getattr(encoder, "encode", None)) and isinstance(getattr(encoder, "name", None), str):
        return encoder
    raise InvalidSetting(
        f"{type(encoder).__name__!r} is no encoder: it needs a `name` and `encode`, or to be a LangChain `Embeddings`"
    )


def _open_named(name: str | Path) -> Encoder:
    """Open a folder, or else the model of a provider."""
    if (folder := Path(name).expanduser()).is_dir():
        return OnnxMiniLM(folder)
    provider, _, model = str(name).partition(":")
    if isinstance(name, Path) or not (provider and model):
        raise _unknown(str(name))
    return LangChainEncoder(_openai_embeddings(model) if provider == "openai" else _by_langchain(name))


def _openai_embeddings(model: str) -> Embeddings:
    """Build embeddings of OpenAI, or of the OpenAI-compatible server at `OPENAI_BASE_URL`."""
    base_url = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    key = os.environ.get("OPENAI_API_KEY") or ("not-needed" if base_url else "")
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


def _unknown(name: str) -> InvalidSetting:
    return InvalidSetting(
        f"unknown encoder {name!r}: choose {', '.join(NAMES)}, openai:NAME, embeddings of LangChain (PROVIDER:NAME), "
        "or a folder that holds all-MiniLM-L6-v2"
    )


class LangChainEncoder:
    """Encode with a LangChain `Embeddings`, scaled to length 1."""

    def __init__(self, embeddings: Embeddings, name: str | None = None) -> None:
        """Wrap embeddings, under the name of their vector space: of their class, model and dimensions, unless given.

        Pass a name where two models would get the same one.
        """
        self._embeddings = embeddings
        self.name = name or name_of(embeddings)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, in one call of `embed_documents`. No texts cost one call that learns the dimensions.

        Raises:
            EncoderUnavailable: The embeddings failed, or gave too few vectors, of unequal lengths, or not of finite
                numbers.
        """
        asked = list(texts) or ["dimensions"]  # only to learn how many there are
        try:
            lists = self._embeddings.embed_documents(asked)
        except Exception as error:  # each service has errors of its own
            reason = " ".join(str(error).split())[:300]
            raise self._unavailable(f"gave no vectors: {type(error).__name__}: {reason}") from error
        dimensions = {len(vector) for vector in lists}
        if len(lists) != len(asked) or len(dimensions) != 1 or 0 in dimensions:
            raise self._unavailable(
                f"gave {len(lists)} vectors of {sorted(dimensions)} dimensions for {len(asked)} texts"
            )
        vectors = np.asarray(lists, dtype=np.float64)
        if not np.isfinite(vectors).all():
            raise self._unavailable("gave a vector with a number that is not finite")
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        # a row of zeros has no direction: it gets equal components
        vectors = np.where(largest > 0, vectors / np.where(largest > 0, largest, 1), 1)
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(units[: len(texts)], dtype=np.float32)

    def _unavailable(self, reason: str) -> EncoderUnavailable:
        return EncoderUnavailable(f"{self.name!r} {reason}; check the embeddings, or try again")


def name_of(embeddings: Embeddings) -> str:
    """Return the name of an embeddings' vector space: its class, its model and the dimensions chosen for it."""
    names = [getattr(embeddings, attribute, None) for attribute in ("model", "model_name", "model_id", "deployment")]
    sizes = [getattr(embeddings, attribute, None) for attribute in ("dimensions", "output_dimensionality", "size")]
    model = next((name for name in names if isinstance(name, str) and name), "")
    size = next((str(size) for size in sizes if isinstance(size, int)), "")
    return ":".join(part for part in (type(embeddings).__name__, model, size) if part)
