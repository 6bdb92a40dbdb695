"""A list is read item by item, each checked against the lines that it cites, and the answer cites what it rests on."""

import pytest

from langgraph_engram.prompts.list_items import answer_from, read_items
from langgraph_engram.prompts.write_answer import UNKNOWN

SAID = ("I bought a red kite in May.", "A friend gave me a box kite.", "I planned to buy a sled.", "Rain again.")
REPLY = """\
- a red kite, May [1]
- a box kite from a friend [2][1]
x a sled [3]: only planned
LOOK FOR: glider, drone
ANSWER: Two: the red one and the box kite"""


@pytest.fixture
def lines(passage):
    """Four lines, best first."""
    return [passage(f"p{number}", text=text) for number, text in enumerate(SAID, start=1)]


def test_what_counts_and_what_is_left_out_are_read(lines):
    """The mark of a line says which it is; words to look for are no item."""
    listed = read_items(REPLY, lines)

    assert [(item.text, item.evidence_ids, item.counts) for item in listed.items] == [
        ("a red kite, May", ["p1"], True),
        ("a box kite from a friend", ["p2", "p1"], True),
        ("a sled: only planned", ["p3"], False),
    ]
    assert (listed.look_for, listed.dropped) == ("glider, drone", [])
    assert listed.answer == "Two: the red one and the box kite"


@pytest.mark.parametrize("item", ["a green kite", "a green canoe [4]", "a red kite [9]", "a red kite [0]"])
def test_what_no_line_holds_is_dropped(lines, item):
    """An item without a citation, or with one that does not hold it, counts for nothing and is named."""
    listed = read_items(f"- a red kite [1]\n- {item}\nANSWER: 2", lines)

    assert [found.text for found in listed.items] == ["a red kite"]
    assert listed.dropped == [item.split(" [")[0]]


def test_an_answer_cites_what_its_list_rests_on(lines):
    """Without citations of its own it gets those of what counts; what was left out is in the pool, and not cited."""
    answer, pool = answer_from(read_items(REPLY, lines), lines)

    assert [passage.evidence_id for passage in pool] == ["p1", "p2", "p3"]
    assert answer == "Two: the red one and the box kite [1][2]"


def test_citations_are_counted_anew(lines):
    """Lines that nothing rests on are gone, so that numbers change; unknown ones vanish."""
    answer, pool = answer_from(
        read_items("- a box kite [2]\n- rain [4]\nANSWER: a kite [2], rain [4, 9]", lines), lines
    )

    assert [passage.evidence_id for passage in pool] == ["p2", "p4"]
    assert answer == "a kite [1], rain [2]"


@pytest.mark.parametrize("reply", ["ANSWER: 0", "ANSWER: None.", "x a sled [3]: only planned\nANSWER: 0", "", UNKNOWN])
def test_nothing_that_counts_is_no_number(lines, reply):
    """What was not told may have been done all the same."""
    assert answer_from(read_items(reply, lines), lines)[0] == UNKNOWN


@pytest.mark.parametrize("reply", ["A red kite [1]", "ANSWER: a red kite, bought in May"])
def test_an_answer_without_a_list_is_traced(lines, reply):
    """Small models list nothing: what they cite, or take their words from, is the evidence."""
    answer, pool = answer_from(read_items(reply, lines), lines)

    assert answer.endswith("[1]")
    assert [passage.evidence_id for passage in pool] == ["p1"]


@pytest.mark.parametrize("said", ["LOOK FOR: none", "LOOK FOR:", "look for: None."])
def test_nothing_to_look_for_is_nothing(lines, said):
    """A line that names no words is no reason to read on."""
    assert read_items(f"- a red kite [1]\n{said}\nANSWER: 1", lines).look_for == ""
