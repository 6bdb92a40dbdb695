"""Say who stands beside whom. This module does not know what is ordered."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def neighbours(order: Sequence[int], groups: Sequence[str | None]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give, for each position, the one before and the one after it in its group.

    Args:
        order: Every position once, first to last.
        groups: The group of each position; what has none has no neighbours.

    Returns:
        Two arrays of shape (n,), by position; -1 for none.
    """
    before, after = np.full(len(order), -1, dtype=np.intp), np.full(len(order), -1, dtype=np.intp)
    last: dict[str, int] = {}
    for position in order:
        group = groups[position]
        if group is None:
            continue
        if (previous := last.get(group)) is not None:
            before[position], after[previous] = previous, position
        last[group] = position
    return before, after


def grouped(pairs: Iterable[tuple[str | None, int]]) -> dict[str, list[int]]:
    """Gather positions by their group, in the order given; what has none is left out."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for group, position in pairs:
        if group is not None:
            groups[group].append(position)
    return dict(groups)
