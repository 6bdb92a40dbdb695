"""Define the port through which text becomes vectors. Adapters live in `encoders/`; nothing heavy is imported here."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.schema import Turn
from langgraph_engram.text.sentences import split_sentences

Vectors: TypeAlias = NDArray[np.float32]


class Encoder(Protocol):
    """Turn texts into unit vectors."""

    @property
    def name(self) -> str:
        """Give what identifies the vector space. A store refuses an encoder of another name."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1. No texts give (0, dimensions).
        """


LONG = 1000
"""Characters from which a text is read by its sentences: about what 256 word pieces hold."""
LEAST_LENGTH = 1e-12
"""What a mean of opposite vectors is divided by, in place of nothing."""


def texts_of_turn(turn: Turn) -> list[str]:
    """Give the texts whose vectors make up a turn's, at least one."""
    if len(turn.text) < LONG:
        return [turn.indexed_text]
    return [*(f"{turn.speaker}: {sentence}" for sentence in split_sentences(turn.text)), *turn.captions]


def texts_of_narrative(text: str) -> list[str]:
    """Give the texts whose vectors make up a narrative's, at least one."""
    return [text] if len(text) < LONG else split_sentences(text) or [text]


def encode_turns(encoder: Encoder, turns: Sequence[Turn]) -> Vectors:
    """Encode turns, in order, as a store holds them.

    Returns:
        A float32 array of shape (len(turns), dimensions); each row has length 1.
    """
    parts = [texts_of_turn(turn) for turn in turns]
    texts = list(dict.fromkeys(text for one in parts for text in one))
    known = dict(zip(texts, encoder.encode(texts), strict=True))
    return np.stack([mean_of(one, known) for one in parts]) if parts else encoder.encode([])


def mean_of(texts: Sequence[str], vectors: Mapping[str, Vectors]) -> Vectors:
    """Average the vectors of texts, weighed by length, and scale the result to length 1.

    Args:
        texts: One text or more. The vector of a single one stays as it is.
        vectors: The unit vector of each text, of shape (dimensions,).
    """
    if len(texts) == 1:
        return vectors[texts[0]]
    weights = np.array([len(text) for text in texts], dtype=np.float32)
    total: Vectors = weights @ np.stack([vectors[text] for text in texts])
    return np.asarray(total / max(float(np.linalg.norm(total)), LEAST_LENGTH), dtype=np.float32)
