"""Under each preset, what is asked and stored while writing is what its paper says."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from langgraph_engram.llm.base import Question
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset, without
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.testing import FakeModel

Written = tuple[Memory, list[Question[Any]]]


def by_rule(question: Question[Any]) -> object:
    """Answer as the rules do."""
    return RULES[type(question)](question)


@pytest.fixture
def write() -> Iterator[Callable[..., Written]]:
    """Write messages under settings; return the memory, and what a model that answers by rules was asked."""
    with ExitStack() as stack:

        def run(settings, messages, **call):
            model = FakeModel([by_rule] * 500)
            memory = stack.enter_context(Memory("memory:", model, encoder="hashing", settings=settings))
            memory.remember(messages, user_id="ana", session_id="s1", close_session=True, **call)
            return memory, model.asked

        yield run


def chat(count: int) -> list[dict[str, str]]:
    """Make a chat of so many messages of a user, each with an assistant's reply."""
    return [
        message
        for number in range(count)
        for message in (
            {"role": "user", "content": f"I planted tree {number} behind our house."},
            {"role": "assistant", "content": f"Tree {number} needs water from the river Asker every week."},
        )
    ]


def asked_about(asked: list[Question[Any]], name: str) -> list[Any]:
    return [question for question in asked if question.name == name]


def test_dimmem_draws_records_from_the_users_side(write):
    """An assistant's turns are stored, and neither read for records nor a source of one (DimMem section 3.2)."""
    memory, asked = write(preset("dimmem"), chat(30))

    turns = {turn.turn_id: turn for turn in memory.show("turns", "ana")}
    sources = [turns[turn_id] for record in memory.show("records", "ana") for turn_id in record.source_turn_ids]
    read = [turn for question in asked_about(asked, "ExtractRecords") for turn in (*question.context, *question.turns)]
    assert len(turns) == 60
    assert {turn.role for turn in sources} == {turn.role for turn in read} == {"user"}
    assert len(sources) == 30


def test_windows_count_messages_of_the_user(write):
    """A reply belongs to what it follows (DimMem Eq. 3): W, O = 25, 5 messages of the user make windows of 25 and 5."""
    memory, asked = write(preset("dimmem"), chat(30))

    sizes = [len(event.turn_ids) for event in memory.show("events", "ana")]
    read = [(len(question.context), len(question.turns)) for question in asked_about(asked, "ExtractRecords")]
    assert sizes == [50, 10]
    assert read == [(0, 25), (5, 5)]


def test_a_dialogue_of_two_people_is_read_on_both_sides(write):
    """Nobody in it is an assistant."""
    said = [{"speaker": speaker, "text": f"I planted tree {n}."} for n in range(3) for speaker in ("Ana", "Ben")]

    memory, _ = write(preset("dimmem"), said)

    assert {record.speaker for record in memory.show("records", "ana")} == {"Ana", "Ben"}


NEAR_DUPLICATES = [
    {
        "speaker": "Ana",
        "text": "I train for the Bergen marathon in Oslo because I want to be fit.",
        "said_at": "2023-05-08",
    },
    {
        "speaker": "Ana",
        "text": "I train for the Bergen marathon in Asker because I want to be fit.",
        "said_at": "2023-06-08",
    },
]


@pytest.mark.parametrize("name", ["dimmem", "engram"])
def test_decisions_see_the_dimensions_of_the_records(write, name):
    """The decision prompt exposes content and dimensions (DimMem section 3.4)."""
    _, asked = write(preset(name), NEAR_DUPLICATES)

    text = str(asked_about(asked, "DecideUpdate")[0].render()[-1].text)
    assert "(place: Oslo; reason: I want to be fit; keywords: " in text


def test_content_only_records_have_no_dimension(write):
    """Each record is flat text with the moment of its mention (DimMem section 4.3)."""
    memory, _ = write(without(preset("dimmem"), ["content-only"]), NEAR_DUPLICATES)

    first, second = memory.show("records", "ana")
    for record in (first, second):
        said = (record.time_text, record.location, record.reason, record.purpose)
        assert (record.memory_type, record.event_start, record.keywords, said) == (None, None, [], ("", "", "", ""))
    assert first.mentioned_at < second.mentioned_at
