"""A record's sentences are marked in its turns, and no character of a turn is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.schema import Record, Turn
from langgraph_engram.server.inspector.views import sources_of
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.index import TURNS, ScopeIndex

TEXTS = st.lists(
    st.sampled_from(["Ana camps.", " ", "\n", "\t\n", "Why? ", "- 5 g salt", "It rains", "…", "。", "<b>"])
).map("".join)


def held(*turns):
    """An index of some turns."""
    return ScopeIndex().with_items(TURNS, turns, np.zeros((len(turns), 1), dtype=np.float32))


def turn_of(seq, text, session_id="s1"):
    return Turn(turn_id=f"{session_id}t{seq}", session_id=session_id, seq=seq, role="user", speaker="Ana", text=text)


def record_of(content, *turns, **fields):
    known = {"record_id": "r", "session_id": "s1", "event_id": "e", "seq": 0}
    return Record(content=content, source_turn_ids=[turn.turn_id for turn in turns], **{**known, **fields})


def marks(views):
    """Return the marked texts of each source."""
    return [[span.text for span in view.spans if span.marked] for view in views if view.is_source]


@given(text=TEXTS, content=TEXTS, kind=st.sampled_from(["dimensional", "passage"]))
def test_no_character_is_lost(text, content, kind):
    """Whatever is marked, the parts of a turn are its text."""
    turn = turn_of(0, text)

    (view,) = sources_of(record_of(content, turn, kind=kind), held(turn))

    assert "".join(span.text for span in view.spans) == text


def test_the_sentences_that_say_it_are_marked_in_every_source():
    """In other words, over two turns; what merely shares a word is not."""
    turns = [turn_of(0, "Good news! We camped at Lake Bled."), turn_of(1, "By the lake, with Joao. It rained.")]
    record = record_of("Ana camped at Lake Bled with Joao.", *turns)

    views = sources_of(record, held(*turns))

    assert marks(views) == [["We camped at Lake Bled."], ["By the lake, with Joao."]]


def test_of_a_passage_what_it_quotes_is_marked():
    """Line by line, however its lines were joined."""
    turn = turn_of(0, "# Bread\n\n- 500 g flour\n- 10 g salt\n\nEnjoy!")
    record = record_of("Bread:\n- 500 g flour\n- 10 g salt", turn, kind="passage")

    assert marks(sources_of(record, held(turn))) == [["- 500 g flour", "- 10 g salt"]]


def test_where_no_word_is_shared_nothing_is_marked():
    """The turn is still shown as the source."""
    turn = turn_of(0, "Yes, every day.")

    assert marks(sources_of(record_of("Ben swims.", turn), held(turn))) == [[]]


@pytest.mark.parametrize(
    ("cited", "shown", "gaps"),
    [((5,), [3, 4, 5, 6, 7], [3]), ((0, 1), [0, 1, 2, 3], []), ((2, 9), [0, 1, 2, 3, 4, 7, 8, 9], [7])],
)
def test_sources_stand_among_the_turns_around_them(cited, shown, gaps, store, scope, turn):
    """Two before and after each; where turns are left out, a gap says so."""
    turns = [turn(seq, f"Line {seq}.") for seq in range(10)]
    store.commit(scope, Changes(turns=turns))

    views = sources_of(record_of("Line.", *(turns[seq] for seq in cited)), store.index(scope))

    assert [view.turn.seq for view in views] == shown
    assert [view.turn.seq for view in views if view.after_gap] == gaps
    assert [view.turn.seq for view in views if view.is_source] == list(cited)
