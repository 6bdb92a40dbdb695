"""Which encoder each name opens."""

import json
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from langgraph_engram.embeddings.base import CachingEncoder, Encoder, HashingEncoder, Vectors
from langgraph_engram.embeddings.factory import LangChainEncoder, open_encoder
from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting


class ConstantEncoder:
    """An encoder of the user's own."""

    name = "constant"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one direction for every text."""
        return np.ones((len(texts), 1), dtype=np.float32)


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
        (ConstantEncoder(), ConstantEncoder),
        (DeterministicFakeEmbedding(size=3), LangChainEncoder),
    ],
)
def test_each_name_opens_its_encoder(given: str | Encoder | None, kind: type[Encoder]) -> None:
    """With a cache around it, and one alone."""
    encoder = open_encoder(given)

    assert isinstance(encoder, CachingEncoder)
    assert isinstance(encoder.inner, kind)
    assert open_encoder(encoder) is encoder


class EmbeddingsHandler(BaseHTTPRequestHandler):
    """OpenAI's interface for embeddings: the vector of a text is its length and 1."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = [
            {"object": "embedding", "index": index, "embedding": [len(text), 1.0]}
            for index, text in enumerate(request["input"])
        ]
        body = json.dumps({"object": "list", "data": rows, "model": request["model"], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def embeddings_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server of embeddings on loopback."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = HTTPServer(("127.0.0.1", 0), EmbeddingsHandler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_embeddings_of_a_provider_are_opened_by_name(embeddings_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's from the server of one's own, text for text; the name is the vector space's."""
    monkeypatch.setenv("OPENAI_BASE_URL", embeddings_url)

    encoder = open_encoder("openai:text-embedding-3-small")

    assert encoder.name == "OpenAIEmbeddings:text-embedding-3-small"
    assert encoder.encode(["abc"]).tolist() == [pytest.approx([3 / 10**0.5, 1 / 10**0.5])]


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

    class Nameless:
        def encode(self, texts: Sequence[str]) -> Vectors:
            return np.ones((len(texts), 1), dtype=np.float32)

    with pytest.raises(InvalidSetting, match=r"'Nameless' is no encoder: it needs a `name`"):
        open_encoder(Nameless())  # type: ignore[arg-type]  # the mistake is the test
