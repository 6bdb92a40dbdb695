"""Say of each record whether it holds what an answer of a type is made of: a time, a place, a name, a number.

It is what a query asks for, so it is preferred and never demanded: the dimension asked for is no filter (DimMem
section 3.3).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.language.answer_types import AnswerType
from langgraph_engram.language.names import proper_names
from langgraph_engram.language.numbers import NUMBER, spelled_numbers
from langgraph_engram.language.tokens import words
from langgraph_engram.schema import Record

Flags = NDArray[np.bool_]
Holders = Mapping[AnswerType, Flags]

TEXTS_KEPT = 65_536
"""Texts whose names and numbers are kept in the process: a scope is read anew after each commit."""


def answer_holders(records: Sequence[Record], speakers: Collection[str]) -> Holders:
    """Give, for each type of answer that can be seen in a record, which records hold it.

    Args:
        records: n records.
        speakers: Who takes part: their names are in nearly every record and answer nothing.

    Returns:
        Arrays of shape (n,). `content` and `advice` are held by what names something.
    """
    people = frozenset(word for name in speakers for word in words(name))
    named = _flags(any(not people.issuperset(words(name)) for name in names_in(one.content)) for one in records)
    numbered = _flags(has_number(one.content) for one in records)
    return {
        "time": _flags(one.event_start is not None for one in records),
        "duration": numbered,
        "number": numbered,
        "place": _flags(bool(one.location) for one in records),
        "person": named,
        "name": named,
        "content": named,
        "advice": named,
    }


@lru_cache(maxsize=TEXTS_KEPT)
def names_in(text: str) -> tuple[str, ...]:
    """Give the proper names in a text."""
    return tuple(proper_names(text))


@lru_cache(maxsize=TEXTS_KEPT)
def has_number(text: str) -> bool:
    """Say whether a text tells a number, in digits or in words; "one" alone is mostly a pronoun."""
    return bool(NUMBER.search(text)) or not {"1"}.issuperset(spelled_numbers(words(text)))


def _flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, dtype=np.bool_)
