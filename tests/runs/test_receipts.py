"""Receipts add up, and say what the filter of look-alikes saved."""

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.results import Receipt
from langgraph_engram.runner import add_receipts, comparisons_of

COUNTS = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(lambda one: (max(one), min(one)))


@given(st.lists(COUNTS, max_size=5))
def test_saved_comparisons_are_a_share_of_all(counts):
    """Run by run or at once: all pairs, those compared, and the share between 0 and 1 that was not."""
    receipts = [Receipt(run_id="r", pairs_possible=possible, pairs_compared=made) for possible, made in counts]

    told = comparisons_of(add_receipts(receipts))

    assert (told.all_pairs, told.made) == (sum(one for one, _ in counts), sum(made for _, made in counts))
    assert told.saved == (1 - told.made / told.all_pairs if told.all_pairs else 0)


def test_three_of_four_are_saved():
    """One comparison of four possible ones saves 75 %."""
    assert comparisons_of(Receipt(run_id="r", pairs_possible=4, pairs_compared=1)).saved == 0.75
