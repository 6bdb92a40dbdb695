"""What holds for every backend of all-MiniLM-L6-v2."""

from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.minilm_onnx import BATCH, MAX_LENGTH_RATIO, OnnxMiniLM, make_batches, mean_pool
from langgraph_engram.embeddings.minilm_torch import TorchMiniLM
from langgraph_engram.embeddings.minilm_weights import matches_proof

TEXTS = (
    "",
    " \n\t ",
    "I went camping in the mountains last weekend.",
    "i WENT   camping in the mountains last weekend.",
    " ".join(f"word{number}" for number in range(1000)),
    "long " * 300,
    "x" * 5000,
    "🎉🏕️ what a weekend 😂",
    "Gestern war ich in Zürich; es hat geregnet.",
    "昨日は京都へ行きました。",
    "Вчера я был в Москве, а завтра поеду домой",
    "مرحبا كيف حالك اليوم",
    "half a pair: \ud83d and on",
    "nul \x00 and bell \x07",
    "[CLS] [SEP] [PAD] [MASK]",
    "#" * 40,
    "2023-05-08T13:56:00Z, 3.14 % of $1,000",
)


@pytest.fixture(params=["onnx", "torch"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    """Each backend in turn."""
    made: Encoder = request.getfixturevalue(f"{request.param}_encoder")
    return made


def test_both_back_ends_give_the_same_vectors(onnx_encoder: OnnxMiniLM, torch_encoder: TorchMiniLM) -> None:
    """A store written through one can be read through the other."""
    texts = [*TEXTS, *(" ".join(["pottery class"] * number) for number in range(1, 40))]

    ours, theirs = onnx_encoder.encode(texts), torch_encoder.encode(texts)

    assert np.abs(ours - theirs).max() <= 1e-5
    assert (ours * theirs).sum(axis=1).min() >= 0.999999
    assert onnx_encoder.name == torch_encoder.name == "all-MiniLM-L6-v2-53aa5117"


def test_similarities_are_the_published_ones(encoder: Encoder) -> None:
    """The model's card gives three."""
    texts = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]

    vectors = encoder.encode(texts)

    assert vectors[1:] @ vectors[0] == pytest.approx([0.6946, 0.9429, 0.2569], abs=1e-4)


def test_rows_are_float32_of_length_one(encoder: Encoder) -> None:
    """Whatever the text, so that a dot product is a cosine."""
    vectors = encoder.encode(TEXTS)

    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_order_is_kept(encoder: Encoder) -> None:
    """A text's row does not depend on the texts around it, though batches are sorted by length."""
    texts = [f"{'very ' * (number * 7 % 23)}happy person number {number}" for number in range(3 * BATCH + 1)]

    together = encoder.encode(texts)

    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() <= 1e-5


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    """The number of dimensions is known even so."""
    assert encoder.encode([]).shape == (0, 384)


def test_what_follows_256_tokens_is_cut_off(encoder: Encoder) -> None:
    """254 words of one token are read, and the two markers."""
    read = " ".join(["dog"] * 254)

    vectors = encoder.encode([read, f"{read} violin sunset", " ".join(["dog"] * 253)])

    assert np.abs(vectors[0] - vectors[1]).max() <= 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-6


def test_many_threads_may_encode_at_once(encoder: Encoder) -> None:
    """Nodes run in threads; each gets the vectors of its own texts."""
    texts = [[f"thread {number} said {word}" for word in ("hello", "goodbye", "perhaps")] for number in range(6)]
    expected = [encoder.encode(own) for own in texts]
    found: dict[int, np.ndarray] = {}
    threads = [Thread(target=lambda at=at: found.update({at: encoder.encode(texts[at])})) for at in range(6)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(np.allclose(found[at], expected[at], atol=1e-6) for at in range(6))


def test_torch_keeps_its_own_number_of_threads() -> None:
    """An encoder in a user's process does not slow down that user's own torch."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)

    TorchMiniLM(threads=1).encode(["hello"])

    after = torch.get_num_threads()
    torch.set_num_threads(before)
    assert after == 2


@given(some.lists(some.integers(2, 256), min_size=1, max_size=100), some.integers(1, 8))
def test_batches_hold_each_text_once_beside_its_like(lengths: list[int], threads: int) -> None:
    """No batch is large, none holds more than a thread's share, and none is padded much."""
    batches = make_batches(lengths, threads)

    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(len(batch) <= min(BATCH, -(-len(lengths) // threads)) for batch in batches)
    assert all(lengths[batch[0]] <= MAX_LENGTH_RATIO * lengths[batch[-1]] for batch in batches)


def test_padding_takes_no_part_in_the_mean() -> None:
    """A short text beside a long one has the mean of its own tokens."""
    hidden = np.array([[[3, 0], [0, 4], [9, 9]]], dtype=np.float32)

    pooled = mean_pool(hidden, np.array([[1, 1, 0]]))

    assert pooled == pytest.approx(np.array([[0.6, 0.8]]))


def test_proof_refuses_other_vectors(onnx_encoder: OnnxMiniLM) -> None:
    """Vectors of other texts do not have the published similarities."""
    vectors = onnx_encoder.encode(["one", "two", "three", "four"])

    assert not matches_proof(vectors)
