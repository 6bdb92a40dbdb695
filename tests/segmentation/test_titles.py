"""An event is named by few of its own keywords, as a whole, until a model notes what it is about."""

import pytest

from langgraph_engram.nodes.segment import Segment
from langgraph_engram.segmentation import segmenter
from langgraph_engram.segmentation.events import LIMITS, is_named_by_keywords
from langgraph_engram.segmentation.segmenter import LearnedSegmenter
from langgraph_engram.stores.base import Changes
from langgraph_engram.text.keywords import TITLE_KEYWORDS

SIGHTS = ("harbour", "orchard", "chapel", "meadow", "quarry", "glacier", "lagoon", "desert", "canyon", "forest")
WALKS = [f"My camera and I saw a {sight}: the camera likes {sight} light." for sight in SIGHTS]


@pytest.fixture(autouse=True)
def _uncut(monkeypatch):
    """Leave each session one event."""
    monkeypatch.setattr(segmenter, "MIN_PROBABILITY", 1)


def cut(store, request, turns):
    """Cut turns of one session, without a model, and commit the events."""
    step = Segment(store, LearnedSegmenter(store.encoder, 40))
    update = step({"request": request, "run_id": "run", "tasks": [], "session_ids": ["s1"], "turns": turns})
    store.commit(request.scope, Changes(turns=turns, events=update["events"], boundaries=update["boundaries"]))
    return update


def test_an_event_is_named_by_what_recurs_in_it(store, to_remember, turn):
    """Not by each turn's words, nor by a tool's: the name is short, keywords are only searched.

    A boundary holds the name alone.
    """
    found = turn(len(WALKS), "Baixa Palace, Baixa Inn, Baixa Rooms. " * 9, role="tool", speaker="search")
    turns = [*(turn(seq, text) for seq, text in enumerate(WALKS)), found]

    update = cut(store, to_remember(), turns)

    (event,), (boundary,) = update["events"], update["boundaries"]
    assert event.topics[0].startswith("camera, ")
    counts = (len(event.topics), len(event.topics[0].split(", ")), len(event.keywords))
    assert counts == (1, TITLE_KEYWORDS, LIMITS.keywords)
    assert event.summary == event.topics[0]
    assert event.indexed_text.startswith(f"{event.summary} (")
    assert "Baixa" not in event.indexed_text
    assert boundary.text == f"The conversation opens with Ana on {event.topics[0]}."


def test_an_extended_event_is_named_as_a_whole(store, to_remember, turn):
    """One message a call, or all in one: the name is the same, and no longer."""
    turns = [turn(seq, text) for seq, text in enumerate(WALKS)]

    for single in turns:
        (event,) = cut(store, to_remember(), [single])["events"]

    at_once = cut(store, to_remember(user_id="other"), turns)["events"][0]
    assert (event.topics, event.keywords, event.summary) == (at_once.topics, at_once.keywords, at_once.summary)
    assert "camera" in event.topics[0]


def test_a_note_is_not_taken_for_keywords(event):
    """A name made of the first keywords is no note; an event of small talk may be named anew, too."""
    named = event(0, 0, keywords=["camera", "light"], topics=["camera, light"])

    assert is_named_by_keywords(named)
    assert is_named_by_keywords(event(0, 0))
    assert is_named_by_keywords(event(0, 0, topics=["small talk"]))
    assert not is_named_by_keywords(named.model_copy(update={"topics": ["Ana's camera"]}))
    assert not is_named_by_keywords(named.model_copy(update={"topics": ["camera, light", "Ana's camera"]}))
