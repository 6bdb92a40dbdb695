"""A long text is cut at word ends."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.compression.llmlingua2 import cut_at_word_ends


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 20))
def test_each_word_is_in_one_run_that_fits(sizes, room):
    """Runs follow one another, hold every word once, and fit unless a single word does not."""
    runs = [list(range(len(sizes)))[one] for one in cut_at_word_ends(sizes, room)]

    assert [place for run in runs for place in run] == list(range(len(sizes)))
    assert all(runs)
    for run in runs:
        assert sum(sizes[place] for place in run) <= room or len(run) == 1


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 20))
def test_a_run_is_cut_only_where_it_is_full(sizes, room):
    """The first word of a run would not have fitted into the one before."""
    runs = [list(range(len(sizes)))[one] for one in cut_at_word_ends(sizes, room)]

    assert all(sum(sizes[place] for place in before) + sizes[after[0]] > room for before, after in pairwise(runs))
