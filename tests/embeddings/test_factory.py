"""Which encoder each name opens."""

from collections.abc import Sequence

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.caching import CachedEncoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.embeddings.langchain import LangChainEncoder
from langgraph_engram.embeddings.minilm import MiniLM
from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.errors import InvalidSetting


class ConstantEncoder:
    """An encoder of the user's own."""

    name = "constant"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one direction for every text."""
        return np.ones((len(texts), 1), dtype=np.float32)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (None, MiniLM),
        ("", MiniLM),
        ("minilm", MiniLM),
        ("auto", MiniLM),
        ("minilm:onnx", OnnxMiniLM),
        ("minilm:torch", TorchMiniLM),
        (ConstantEncoder(), ConstantEncoder),
        (DeterministicFakeEmbedding(size=3), LangChainEncoder),
    ],
)
def test_each_name_opens_its_encoder(given: str | Encoder | None, kind: type[Encoder]) -> None:
    """With a memory of lately encoded texts around it."""
    encoder = open_encoder(given)

    assert isinstance(encoder, CachedEncoder)
    assert isinstance(encoder.inner, kind)


def test_hashing_needs_no_weights() -> None:
    """It opens and encodes by itself."""
    encoder = open_encoder("hashing")

    assert np.linalg.norm(encoder.encode(["I went camping"]), axis=1) == pytest.approx(1, abs=1e-5)


def test_an_open_encoder_is_not_wrapped_again() -> None:
    """One memory is enough."""
    encoder = open_encoder("minilm")

    assert open_encoder(encoder) is encoder


@pytest.mark.parametrize("given", ["minilm:tensorflow", "/no/such/folder", "MiniLM"])
def test_an_unknown_name_is_refused_with_the_known_ones(given: str) -> None:
    """At once, and not at the first encode."""
    with pytest.raises(InvalidSetting, match=f"unknown encoder '{given}': choose minilm, .*hashing"):
        open_encoder(given)


def test_what_is_no_encoder_is_refused() -> None:
    """Something that encodes but has no name could not be distinguished from another."""

    class Nameless:
        def encode(self, texts: Sequence[str]) -> Vectors:
            return np.ones((len(texts), 1), dtype=np.float32)

    with pytest.raises(InvalidSetting, match=r"'Nameless' is no encoder: it needs a `name`"):
        open_encoder(Nameless())  # type: ignore[arg-type]  # the mistake is the test
