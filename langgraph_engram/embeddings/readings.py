"""The learned updates by which all-MiniLM-L6-v2 reads a text for more than what it is about.

It puts side by side what is about the same: a peanut allergy is far from "plan a team lunch". It reads otherwise with
low-rank updates of its linear layers (LoRA, Hu et al. 2021, section 4.1), a set for each reading, which the lab's
`training.readings` has learned. What is stored keeps its vectors.
"""

from functools import cache
from importlib.resources import files
from typing import get_args

import numpy as np

from langgraph_engram.embeddings.base import Reading, Vectors

READINGS: tuple[Reading, ...] = get_args(Reading)
RANK = 8
"""Rank of the updates of each reading."""
DOWN, UP = ".down", ".up"
"""How the names of a layer's two factors end, of shape (rank, inputs) and (outputs, rank)."""


@cache
def factors(reading: Reading) -> dict[str, Vectors]:
    """Return the factors of the updates of a reading, by the names of the layers, with `DOWN` and `UP`."""
    with files(__package__).joinpath(f"{reading}.npz").open("rb") as file, np.load(file) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def stacked_factors() -> dict[str, Vectors]:
    """Return the factors of all readings, those of a layer side by side, in the order of `READINGS`."""
    each = [factors(reading) for reading in READINGS]
    return {name: np.concatenate([rows[name] for rows in each], axis=int(name.endswith(UP))) for name in each[0]}


def gate_of(reading: Reading) -> Vectors:
    """Return 1 for each row of the stacked factors that is the reading's, else 0."""
    return np.repeat(np.array([name == reading for name in READINGS], dtype=np.float32), RANK)
