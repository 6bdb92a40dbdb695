"""Reading structured answers: what is tolerated, and where tolerance ends."""

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.replies import Mistake, Reply, json_values, read_answer, read_reply, strip_reasoning


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
        '{"Items": {"items": [{"name": "x", "size": "2"}]}}',
        '{"items": [{"name": "x", "size": 2}], "comment": "done"}',
        '<think>Perhaps {"items": []}?</think>{"items": [{"name": "x", "size": 2}]}',
        'Perhaps nothing?</think>\n{"items": [{"name": "x", "size": 2}]}',
        "{'items': [{'name': 'x', 'size': 2}]}",
        '{"items": [{"name": "x", "size": 2},]}',
        '{"items": [{"name": "x" "size": 2}]}',
        '{"items": [{"name": "x", "size": 2}] // one\n}',
        'Here it is:\n```json\n{"items": [{"name": "x", "size": 2},],}\n```',
    ],
)
def test_near_misses_of_the_shape_are_read(text):
    """Fences, prose, reasoning, wrappers, bare lists and items, and slips of JSON hold the same answer."""
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
        ('["a", "b"]', "items.0: Input should be a valid dictionary"),
        ('See {"items": [{"name": "x"}], "others": [{"name": "y"}, {"na', "no whole JSON"),
        ("[" * 5000, "no whole JSON"),
        ('{"items": [{"name": "x", "size": 2}, {"name": "mil', "no whole JSON"),
        ('{"items": [{"name": "x", "size": 2},', "no whole JSON"),
        ("I would rather not {say} it.", "no whole JSON"),
        ("{", "no whole JSON"),
        ('{"name": "x"}\n{"name": "y"}', "several answers"),
        ('Example: {"items": []}. Answer: {"items": [{"name": "x"}]}', "several answers"),
    ],
)
def test_what_does_not_fit_is_a_mistake(text, reason):
    """A mistake says where and why, so that a model can repair it; to take one of several answers would lose others."""
    answer = read_answer(Reply(text), Items)

    assert isinstance(answer, Mistake)
    assert reason in answer


@pytest.mark.parametrize(
    "text",
    [
        '{"colour": "red", "mood": "blue"}',
        '{"colour": "red"}',
        '[{"colour": "red"}]',
        '{"weight": NaN}',
        '{"weight": Infinity}',
        '{"weight": 1.5}',
        '{"label": "red"}',
    ],
)
def test_a_mistake_holds_nothing_of_the_answer(text):
    """Other keys are no empty answer, though every key has a default; reasons are stored, what people said is not."""
    answer = read_answer(Reply(text), Hint)

    assert isinstance(answer, Mistake)
    assert "red" not in answer


@pytest.mark.parametrize(
    "metadata", [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}, {"finish_reason": "MAX_TOKENS"}]
)
def test_a_cut_off_answer_is_known_and_not_completed(metadata):
    """Providers name the token limit in their own words; its parts would pass for the whole answer."""
    reply = read_reply(AIMessage("{'items': [{'name': 'x', 'size': 2}]}", response_metadata=metadata))

    assert reply.cut_off
    assert isinstance(read_answer(reply, Items), Mistake)


def test_lone_surrogates_are_replaced():
    """A lone surrogate, which no store can encode, becomes a question mark; a whole pair stays."""
    answer = read_answer(Reply(r'{"items": [{"name": "a\ud83d b"}, {"name": "\ud83d\ude00"}]}'), Items)

    assert isinstance(answer, Items)
    assert [item.name for item in answer.items] == ["a? b", "😀"]


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
