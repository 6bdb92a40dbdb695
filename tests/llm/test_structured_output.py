"""Reading structured answers: what is tolerated, and where tolerance ends."""

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.structured_output import Mistake, Reply, json_values, read_answer, read_reply, strip_reasoning


class Item(BaseModel):
    name: str
    size: int = 0


class Items(BaseModel):
    items: list[Item]
    others: list[Item] = []


class Hint(BaseModel):
    label: Literal["a", "b"] = "a"
    weight: float = Field(default=0.5, ge=0, le=1)


ONE = Items(items=[Item(name="x", size=2)])


@pytest.mark.parametrize(
    "text",
    [
        '{"items": [{"name": "x", "size": 2}]}',
        'Sure! Here it is:\n```json\n{"items": [{"name": "x", "size": 2}]}\n```\nAnything else?',
        'As [1] says: {"items": [{"name": "x", "size": 2}]} (see {1})',
        '[{"name": "x", "size": 2}]',
        '{"memories": [{"name": "x", "size": 2}]}',
        '{"name": "x", "size": 2}',
        'Example: {"items": []}. Answer: {"items": [{"name": "x", "size": 2}]}',
        '{"Items": {"items": [{"name": "x", "size": "2"}]}}',
        '{"items": [{"name": "x", "size": 2}], "comment": "done"}',
        '<think>Perhaps {"items": []}?</think>{"items": [{"name": "x", "size": 2}]}',
        'Perhaps nothing?</think>\n{"items": [{"name": "x", "size": 2}]}',
    ],
)
def test_near_misses_of_the_shape_are_read(text):
    """Fences, prose, reasoning, wrappers, bare lists and bare items hold the same answer."""
    reply = read_reply(AIMessage(text))

    answer = read_answer(reply, Items)

    assert answer == ONE


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I cannot say.", "no whole JSON"),
        ('{"items": [{"name": "x"}', "no whole JSON"),
        ('{"items": [{"size": 2}]}', "items.0.name: Field required"),
        ('{"items": "x"}', "items: Input should be a valid list"),
        ('{"a": 1, "b": 2}', "items.0.name: Field required"),
        ("[1, 2]", "items.0: Input should be a valid dictionary"),
        ('See {"items": [{"name": "x"}], "others": [{"name": "y"}, {"na', "no whole JSON"),
        ("[" * 5000, "no whole JSON"),
    ],
)
def test_what_does_not_fit_is_a_mistake(text, reason):
    """A mistake says where and why, so that a model can repair it."""
    answer = read_answer(Reply(text), Items)

    assert isinstance(answer, Mistake)
    assert reason in answer.reason


def test_items_without_their_list_are_all_kept():
    """One object a line is a list."""
    answer = read_answer(Reply('{"name": "x"}\n{"name": "y"}'), Items)

    assert answer == Items(items=[Item(name="x"), Item(name="y")])


def test_several_calls_are_no_answer_unless_each_is_an_item():
    """Taking one of them would lose what the others hold."""
    whole = read_answer(Reply("", ({"items": [{"name": "x"}]}, {"items": [{"name": "y"}]})), Items)
    items = read_answer(Reply("", ({"name": "x"}, {"name": "y"})), Items)

    assert isinstance(whole, Mistake)
    assert items == Items(items=[Item(name="x"), Item(name="y")])


def test_other_keys_are_no_empty_answer():
    """An object with none of the keys is a mistake, even where every key has a default."""
    answer = read_answer(Reply('{"colour": "red", "mood": "blue"}'), Hint)

    assert isinstance(answer, Mistake)


@pytest.mark.parametrize("text", ['{"weight": NaN}', '{"weight": Infinity}', '{"weight": 1.5}'])
def test_numbers_out_of_bounds_are_mistakes(text):
    """JSON has no NaN, and bounds hold."""
    answer = read_answer(Reply(text), Hint)

    assert isinstance(answer, Mistake)


def test_a_mistake_holds_nothing_of_the_answer():
    """Reasons are stored and logged; what people said is not."""
    answer = read_answer(Reply('{"label": "my secret"}'), Hint)

    assert isinstance(answer, Mistake)
    assert "secret" not in answer.reason


def test_lone_surrogates_are_replaced():
    """A lone surrogate, which no store can encode, becomes a question mark; a whole pair stays."""
    answer = read_answer(Reply(r'{"items": [{"name": "a\ud83d b"}, {"name": "\ud83d\ude00"}]}'), Items)

    assert isinstance(answer, Items)
    assert [item.name for item in answer.items] == ["a? b", "😀"]


def test_the_arguments_of_a_function_are_the_answer():
    """What a function was called with comes before what was said beside it."""
    call = {"name": "Items", "args": {"items": [{"name": "x", "size": 2}]}, "id": "1"}

    answer = read_answer(read_reply(AIMessage('{"items": []}', tool_calls=[call])), Items)

    assert answer == ONE


@pytest.mark.parametrize(
    "metadata", [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}, {"finish_reason": "MAX_TOKENS"}]
)
def test_a_cut_off_answer_is_known(metadata):
    """Providers name the token limit in their own words."""
    reply = read_reply(AIMessage("so", response_metadata=metadata))

    assert reply.cut_off


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>\nhm\n</think>\n\nParis.", "Paris."),
        ("<thinking>hm</thinking>Paris.", "Paris."),
        ("hm, France</think>Paris.", "Paris."),
        ("<think>hm, and on and on", ""),
        ("Write <think> tags </think> like this.", "Write <think> tags </think> like this."),
        (" Paris. ", "Paris."),
    ],
)
def test_reasoning_is_removed(text, left):
    """Only a block at the start of an answer is reasoning."""
    assert strip_reasoning(text) == left


@given(
    st.dictionaries(st.text("abc", min_size=1), st.integers() | st.text() | st.booleans(), min_size=1),
    st.text("xy \n`."),
)
def test_any_object_is_found_in_any_prose(value, prose):
    """What was written as JSON is read as it was written."""
    text = f"{prose}{json.dumps(value)}{prose}"

    found = json_values(text)

    assert found == [value]


@pytest.mark.parametrize(
    "text",
    [
        "{'items': [{'name': 'x', 'size': 2}]}",
        '{"items": [{"name": "x", "size": 2},]}',
        '{"items": [{"name": "x" "size": 2}]}',
        '{"items": [{"name": "x", "size": 2}] // one\n}',
        'Here it is:\n```json\n{"items": [{"name": "x", "size": 2},],}\n```',
    ],
)
def test_json_with_a_slip_is_read_without_another_call(text):
    """Other quotes, a comma too many or too few, a comment."""
    assert json_values(text) == []
    assert read_answer(Reply(text), Items) == ONE


@pytest.mark.parametrize(
    ("text", "cut_off"),
    [
        ('{"items": [{"name": "x", "size": 2}, {"name": "mil', False),
        ('{"items": [{"name": "x", "size": 2},', False),
        ("{'items': [{'name': 'x', 'size': 2}]}", True),
        ("I would rather not {say} it.", False),
        ("{", False),
    ],
)
def test_what_was_cut_off_is_not_completed(text, cut_off):
    """Its parts would pass for the whole answer."""
    assert isinstance(read_answer(Reply(text, cut_off=cut_off), Items), Mistake)
