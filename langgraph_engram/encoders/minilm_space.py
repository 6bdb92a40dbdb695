"""Say what the vectors of all-MiniLM-L6-v2 are, whichever back end makes them, and prove that a back end makes them.

The space is named by the weights' hash, so that a store written through one back end opens with the other.
"""

import numpy as np

from langgraph_engram.encoder import Vectors

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VECTOR_SPACE = f"all-MiniLM-L6-v2-{WEIGHTS_SHA256[:8]}"
DIMENSIONS = 384
MAX_PIECES = 256
"""Word pieces read of a text, its two marks included; what follows is not seen."""

PROOF_TEXTS = ("That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day")
PROOF_COSINES = (0.6946, 0.9429, 0.2569)
"""Published cosines of the first text to each of the others (the model's card)."""
PROOF_TOLERANCE = 0.001


def proven(vectors: Vectors) -> bool:
    """Say whether the vectors of `PROOF_TEXTS` have the published cosines: weights, graph and tokenizer agree."""
    cosines = vectors[1:] @ vectors[0]
    return bool(np.all(np.abs(cosines - np.array(PROOF_COSINES)) < PROOF_TOLERANCE))


def no_vectors() -> Vectors:
    """Give what no texts encode to, of shape (0, DIMENSIONS)."""
    return np.zeros((0, DIMENSIONS), dtype=np.float32)


def readable(text: str) -> str:
    """Replace halves of surrogate pairs by question marks: a tokenizer reads UTF-8, which has none."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
