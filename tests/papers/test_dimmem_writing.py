"""Windows partition turns as DimMem says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.papers.dimmem import windows


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
