"""Windows and buffers partition turns as the papers say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.segmentation.events import buffers, limited_starts, windows


@pytest.mark.parametrize(
    ("count", "spans"),
    [
        (0, []),
        (10, [(0, 10)]),
        (15, [(0, 15)]),
        (16, [(0, 15), (12, 16)]),
        (27, [(0, 15), (12, 27)]),
        (28, [(0, 15), (12, 27), (24, 28)]),
    ],
)
def test_windows_of_fifteen_with_three_shared(count, spans):
    """DimMem's windows for LongMemEval: W 15, O 3."""
    assert windows(count, 15, 3) == spans


@given(st.integers(0, 200), st.integers(1, 40), st.integers(0, 60))
def test_windows_cover_every_turn_and_end_at_the_last(count, window, overlap):
    """Whatever the sizes, no turn is left out and every window is needed."""
    spans = windows(count, window, overlap)

    assert sorted({turn for start, end in spans for turn in range(start, end)}) == list(range(count))
    assert all(end - start <= window for start, end in spans)
    assert [end for _, end in spans[:-1]] == sorted({end for _, end in spans[:-1]})
    assert not spans or spans[-1][1] == count


@given(st.lists(st.integers(0, 900), max_size=60))
def test_buffers_partition_and_respect_the_limit(sizes):
    """A buffer holds at most 512 tokens, or one turn."""
    spans = buffers(sizes, 512)

    assert [turn for start, end in spans for turn in range(start, end)] == list(range(len(sizes)))
    assert all(sum(sizes[start:end]) <= 512 or end - start == 1 for start, end in spans)


@given(st.sets(st.integers(0, 60)), st.integers(1, 60), st.integers(0, 9), st.integers(2, 10))
def test_no_event_grows_beyond_the_limit(cuts, count, held, most):
    """An event is closed at its limit, that which an earlier call left open included."""
    starts = limited_starts(sorted(cuts), count, held, most)

    sizes = [end - start for start, end in zip(starts, [*starts[1:], count], strict=True)]
    assert starts[0] == 0
    assert max(sizes) <= most
    assert {cut for cut in cuts if cut < count and cut > 0} <= set(starts)
    assert 0 in cuts or len(starts) == 1 or sizes[0] + held <= max(most, held + 1)
