"""What `LangChainEncoder` makes of other people's embeddings."""

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_openai import OpenAIEmbeddings

from langgraph_engram.embeddings.factory import LangChainEncoder, name_of
from langgraph_engram.errors import EncoderUnavailable


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
    """Whatever length the embeddings give; a vector of zeros, as some give for an empty text, gets a direction."""
    encoder = LangChainEncoder(FixedEmbeddings([3, 4], [0, -2], [1e-300, 0], [1e300, 1e300], [0, 0]))

    vectors = encoder.encode(["a", "b", "c", "d", ""])

    half = 0.5**0.5
    assert vectors == pytest.approx(np.array([[0.6, 0.8], [0, -1], [1, 0], [half, half], [half, half]]))
    assert vectors.dtype == np.float32


def test_no_texts_give_the_right_number_of_dimensions() -> None:
    """The embeddings alone know how many."""
    encoder = LangChainEncoder(DeterministicFakeEmbedding(size=7))

    assert encoder.encode([]).shape == (0, 7)


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
    """Three vector spaces, three names."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    small = OpenAIEmbeddings(model="text-embedding-3-small")
    large = OpenAIEmbeddings(model="text-embedding-3-large")
    short = OpenAIEmbeddings(model="text-embedding-3-large", dimensions=256)

    assert [name_of(embeddings) for embeddings in (small, large, short)] == [
        "OpenAIEmbeddings:text-embedding-3-small",
        "OpenAIEmbeddings:text-embedding-3-large",
        "OpenAIEmbeddings:text-embedding-3-large:256",
    ]


def test_a_given_name_is_kept() -> None:
    """For embeddings that say nothing of themselves."""
    assert LangChainEncoder(FixedEmbeddings([1.0]), name="ours").name == "ours"
    assert LangChainEncoder(FixedEmbeddings([1.0])).name == "FixedEmbeddings"
