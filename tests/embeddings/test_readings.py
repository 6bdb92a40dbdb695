"""A text is read for more than what it is about, and statements keep the vectors that they have."""

from dataclasses import replace

import numpy as np
import pytest

from langgraph_engram.embeddings import minilm as minilm_module
from langgraph_engram.embeddings.base import CachingEncoder, HashingEncoder, encode_as
from langgraph_engram.embeddings.minilm import GATE, OnnxMiniLM, TorchMiniLM
from langgraph_engram.embeddings.readings import RANK, READINGS
from langgraph_engram.errors import EncoderUnavailable

CASES = [
    ("Book us somewhere nice for the team lunch on Friday.", "I'm allergic to peanuts.", "Lunch is at noon."),
    ("Parse these log lines for me, modern style please.", "Our servers still run Python 3.6.", "The log was long."),
    ("I said yes to three more shifts.", "I sleep badly when I take on too much.", "The shift begins at six."),
]
"""A message, what bears on it, and what is merely about the same."""


@pytest.mark.parametrize(("message", "bears", "alike"), CASES)
def test_what_bears_on_a_message_gains_on_what_is_about_the_same(minilm, message, bears, alike):
    said = minilm.encode([bears, alike])
    (read,), (plain,) = encode_as(minilm, "message", [message]), minilm.encode([message])

    lead, plain_lead = ((said[0] - said[1]) @ vector for vector in (read, plain))

    assert lead > plain_lead
    assert np.linalg.norm(read) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("reading", READINGS)
def test_both_engines_read_alike(onnx_encoder: OnnxMiniLM, torch_encoder: TorchMiniLM, reading) -> None:
    """Also where texts of many lengths are read at once; and what was read before changes no plain vector."""
    texts = ["What should I cook for the six of us tonight?", "ok", "I moved to Ghent in May. " * 9]
    plain = torch_encoder.encode(texts)

    first, second = (encode_as(encoder, reading, texts) for encoder in (onnx_encoder, torch_encoder))

    assert first == pytest.approx(second, abs=1e-5)
    assert (first * plain).sum(axis=1).max() < 0.99
    assert torch_encoder.encode(texts).tolist() == plain.tolist()


def test_each_reading_is_cached_apart(onnx_encoder: OnnxMiniLM) -> None:
    encoder = CachingEncoder(onnx_encoder)

    vectors = [encoder.encode(["soup"]), *(encoder.encode_as(reading, ["soup"]) for reading in READINGS)]
    again = [encoder.encode(["soup"]), *(encoder.encode_as(reading, ["soup"]) for reading in READINGS)]

    assert np.array_equal(vectors, again)
    assert len({vector.tobytes() for vector in vectors}) == 1 + len(READINGS)
    assert encoder.encode_as("message", []).shape == (0, 384)


def test_without_a_reading_the_network_that_reads_gives_plain_vectors(onnx_encoder: OnnxMiniLM) -> None:
    """It is the same network, and the updates are all that it adds."""
    network, texts = onnx_encoder._network.updated, ["What should I cook tonight?", "ok"]
    closed = replace(network, gate={GATE: np.zeros(RANK * len(READINGS), dtype=np.float32)})

    assert closed.encode(texts) == pytest.approx(onnx_encoder.encode(texts), abs=1e-6)


def test_broken_readings_are_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be loaded is tried again at the next call."""
    encoder = OnnxMiniLM()
    with monkeypatch.context() as broken:
        broken.setattr(minilm_module, "stacked_factors", lambda: {"pooler": np.zeros(3, dtype=np.float32)})
        with pytest.raises(EncoderUnavailable, match="cannot load the readings"):
            encoder.encode_as("message", ["soup"])

    assert encoder.encode_as("message", ["soup"]).shape == (1, 384)


NESTED = CachingEncoder(CachingEncoder(HashingEncoder()))


@pytest.mark.parametrize("encoder", [HashingEncoder(), CachingEncoder(HashingEncoder()), NESTED])
def test_an_encoder_that_cannot_read_says_so(encoder) -> None:
    assert encode_as(encoder, "message", ["soup"]) is None
