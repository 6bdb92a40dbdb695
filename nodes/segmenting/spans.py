"""Cut a run of turns by their number or their size: windows (DimMem 3.2), buffers (StructMem 3.1)."""

from collections.abc import Sequence


def windows(count: int, window: int, overlap: int) -> list[tuple[int, int]]:
    """Cut `count` turns into sliding windows (DimMem section 3.2).

    The step is max(1, W - O); the last window ends at the last turn and may be short.

    Args:
        count: The number of turns, at least 0.
        window: W, turns a window, at least 1.
        overlap: O, turns shared with the window before; at most W - 1 counts.

    Returns:
        Pairs (start, end), the end not included; none for no turns.
    """
    step = max(1, window - min(overlap, window - 1))
    spans: list[tuple[int, int]] = []
    start = 0
    while start < count:
        spans.append((start, min(start + window, count)))
        if start + window >= count:
            break
        start += step
    return spans


def buffers(sizes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut turns into buffers that each hold at most `limit` tokens, or one turn (StructMem section 3.1).

    Args:
        sizes: Tokens of each turn.
        limit: Tokens a buffer holds.

    Returns:
        Pairs (start, end), the end not included.
    """
    spans: list[tuple[int, int]] = []
    start, held = 0, 0
    for place, size in enumerate(sizes):
        if place > start and held + size > limit:
            spans.append((start, place))
            start, held = place, 0
        held += size
    return [*spans, (start, len(sizes))] if sizes else []
