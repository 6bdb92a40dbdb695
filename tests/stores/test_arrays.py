"""Append-only arrays, whose versions share memory."""

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


def test_two_extensions_of_one_version_are_independent():
    """The second does not write over the first."""
    root = AppendOnlyArray(rows(1)).extended(rows(2))

    first, second = root.extended(rows(3)), root.extended(rows(4))

    assert (first.rows.tolist(), second.rows.tolist()) == ([1, 2, 3], [1, 2, 4])


def test_a_replaced_row_stands_in_the_new_version_only():
    """The version before keeps what it had."""
    old = AppendOnlyArray(rows(1, 2, 3))

    new = old.replaced([1], rows(9))

    assert (old.rows.tolist(), new.rows.tolist()) == ([1, 2, 3], [1, 9, 3])


def test_extending_rarely_copies_rows():
    """Adding a thousand rows one by one copies them as often as memory doubles."""
    version, addresses = AppendOnlyArray(rows(0)), set()

    for number in range(1000):
        version = version.extended(rows(number))
        addresses.add(version.rows.ctypes.data)

    assert len(addresses) < 20


def test_the_rows_it_was_given_are_copied():
    """A caller may use its array again."""
    given_rows = rows(1, 2)

    AppendOnlyArray(given_rows).replaced([0], rows(7))

    assert given_rows.tolist() == [1, 2]
