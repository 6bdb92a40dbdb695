"""Cut a text that is longer than a model reads at once into chunks, at word ends."""

from collections.abc import Sequence
from itertools import pairwise


def cut_at_word_ends(sizes: Sequence[int], room: int) -> list[slice]:
    """Cut words into runs that fit.

    Args:
        sizes: Tokens of each word, in order.
        room: Tokens of a run, at least 1; a word that is longer by itself is a run of its own.

    Returns:
        Slices of the words, in order, none empty, that together hold each word once.
    """
    starts: list[int] = []
    held = 0
    for place, size in enumerate(sizes):
        if not starts or held + size > room:
            starts.append(place)
            held = 0
        held += size
    return [slice(start, end) for start, end in pairwise([*starts, len(sizes)])]
