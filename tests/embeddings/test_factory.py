"""Which encoder each name opens, and what is made of other people's embeddings."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_openai import OpenAIEmbeddings

from langgraph_engram.embeddings.base import CachingEncoder, Encoder, HashingEncoder
from langgraph_engram.embeddings.factory import LangChainEncoder, name_of, open_encoder
from langgraph_engram.embeddings.minilm import OnnxMiniLM, TorchMiniLM
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting
from tests.fake_server import FakeServer, Reply


class OwnEncoder(HashingEncoder):
    """An encoder of the user's own."""

    name = "own"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (None, OnnxMiniLM),
        ("", OnnxMiniLM),
        ("minilm", OnnxMiniLM),
        ("auto", OnnxMiniLM),
        ("minilm:onnx", OnnxMiniLM),
        ("minilm:torch", TorchMiniLM),
        ("hashing", HashingEncoder),
        (OwnEncoder(), OwnEncoder),
        (DeterministicFakeEmbedding(size=3), LangChainEncoder),
    ],
)
def test_each_name_opens_its_encoder(given: str | Encoder | None, kind: type[Encoder]) -> None:
    """With a cache around it, and one alone."""
    encoder = open_encoder(given)

    assert isinstance(encoder, CachingEncoder)
    assert isinstance(encoder.inner, kind)
    assert open_encoder(encoder) is encoder


def test_embeddings_of_a_provider_are_opened_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's from the server of one's own, text for text; the name is the vector space's."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [{"object": "embedding", "index": 0, "embedding": [3.0, 4.0]}]
    reply = Reply(body=json.dumps({"object": "list", "data": rows, "model": "any", "usage": {}}))
    with FakeServer(otherwise=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        encoder = open_encoder("openai:text-embedding-3-small")
        vectors = encoder.encode(["abc"])

    assert encoder.name == "OpenAIEmbeddings:text-embedding-3-small"
    assert [request["input"] for request in server.requests][-1:] == [["abc"]]
    assert vectors.tolist() == [pytest.approx([0.6, 0.8])]


def test_embeddings_that_need_a_key_or_a_package_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: neither a key for OpenAI, nor the package of a provider that LangChain knows."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(EncoderUnavailable, match="no key for the encoder 'openai:small': set OPENAI_API_KEY"):
        open_encoder("openai:small")
    with pytest.raises(EncoderUnavailable, match="cannot open the encoder 'bedrock:titan'"):
        open_encoder("bedrock:titan")


@pytest.mark.parametrize("given", ["minilm:tensorflow", "/no/such/folder", "MiniLM", "nobody:small", "openai:"])
def test_an_unknown_name_is_refused_with_the_known_ones(given: str) -> None:
    """At once, and not at the first encode."""
    with pytest.raises(InvalidSetting, match=f"unknown encoder '{given}': choose minilm, .*hashing"):
        open_encoder(given)


def test_what_is_no_encoder_is_refused() -> None:
    """Something that encodes but has no name could not be distinguished from another."""
    nameless = SimpleNamespace(encode=HashingEncoder().encode)

    with pytest.raises(InvalidSetting, match=r"'SimpleNamespace' is no encoder: it needs a `name`"):
        open_encoder(nameless)  # type: ignore[arg-type]  # the mistake is the test


class FixedEmbeddings(Embeddings):
    """Return the vectors that were put in."""

    def __init__(self, *vectors: list[float]) -> None:
        self.vectors = list(vectors)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return them all, whatever the texts."""
        return self.vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the first."""
        return self.vectors[0]


def test_rows_have_length_one_and_keep_their_order() -> None:
    """Whatever length the embeddings give; a vector of zeros, as some give for an empty text, gets a direction.

    No texts give as many dimensions, which the embeddings alone know.
    """
    encoder = LangChainEncoder(FixedEmbeddings([3, 4], [0, -2], [1e-300, 0], [1e300, 1e300], [0, 0]))

    vectors = encoder.encode(["a", "b", "c", "d", ""])

    half = 0.5**0.5
    assert vectors == pytest.approx(np.array([[0.6, 0.8], [0, -1], [1, 0], [half, half], [half, half]]))
    assert vectors.dtype == np.float32
    assert LangChainEncoder(DeterministicFakeEmbedding(size=7)).encode([]).shape == (0, 7)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0, 0.0]], "gave 1 vectors of .* for 2 texts"),
        ([[1.0, 0.0], [1.0]], r"of \[1, 2\] dimensions"),
        ([[], []], r"of \[0\] dimensions"),
        ([[1.0, 0.0], [float("nan"), 0.0]], "not finite"),
    ],
)
def test_vectors_that_cannot_be_used_are_refused(vectors: list[list[float]], said: str) -> None:
    """Before they reach a store, which would keep them."""
    encoder = LangChainEncoder(FixedEmbeddings(*vectors))

    with pytest.raises(EncoderUnavailable, match=said):
        encoder.encode(["a", "b"])


def test_the_name_distinguishes_models_and_chosen_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three vector spaces, three names; those that say nothing of themselves are called by their class, or as given."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    small = OpenAIEmbeddings(model="text-embedding-3-small")
    large = OpenAIEmbeddings(model="text-embedding-3-large")
    short = OpenAIEmbeddings(model="text-embedding-3-large", dimensions=256)

    names = [name_of(embeddings) for embeddings in (small, large, short)]
    assert names == [f"OpenAIEmbeddings:text-embedding-3-{rest}" for rest in ("small", "large", "large:256")]
    assert LangChainEncoder(FixedEmbeddings([1.0]), name="ours").name == "ours"
    assert LangChainEncoder(FixedEmbeddings([1.0])).name == "FixedEmbeddings"
