"""Rows that grow in versions which share memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.stores.arrays import AppendOnlyArray


def rows(*numbers):
    return np.array(numbers, dtype=np.int32)


@given(parts=st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=20))
def test_every_version_keeps_its_rows(parts):
    """A version made long ago reads as it did, whatever was added since."""
    versions, wanted = [AppendOnlyArray(rows())], [[]]

    for part in parts:
        versions.append(versions[-1].extended(rows(*part)))
        wanted.append([*wanted[-1], *part])

    assert [version.rows.tolist() for version in versions] == wanted


def test_two_versions_of_one_grow_apart():
    """The second to grow does not write over the first."""
    root = AppendOnlyArray(rows(1)).extended(rows(2))

    one, other = root.extended(rows(3)), root.extended(rows(4))

    assert (one.rows.tolist(), other.rows.tolist()) == ([1, 2, 3], [1, 2, 4])


def test_a_replaced_row_stands_in_the_new_version_only():
    """The version before keeps what it had."""
    old = AppendOnlyArray(rows(1, 2, 3))

    new = old.replaced([1], rows(9))

    assert (old.rows.tolist(), new.rows.tolist()) == ([1, 2, 3], [1, 9, 3])


def test_growing_rarely_moves_rows():
    """Adding a thousand rows one by one moves them as often as memory doubles."""
    version, places = AppendOnlyArray(rows(0)), set()

    for number in range(1000):
        version = version.extended(rows(number))
        places.add(version.rows.ctypes.data)

    assert len(places) < 20


def test_it_does_not_write_into_what_it_was_given():
    """Rows are copied: a caller may use its array again."""
    given_rows = rows(1, 2)

    AppendOnlyArray(given_rows).replaced([0], rows(7))

    assert given_rows.tolist() == [1, 2]
