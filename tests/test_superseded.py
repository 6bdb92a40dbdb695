"""What has changed is quoted with what took its place, or not at all; what was said besides still holds."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset

HOMES = ("I live in Rome with my dog Rex.", "I moved to Oslo with my cat Miso.", "I live in Kyiv now.")
BOSSES = ("My boss is Ruth Weaver, she is strict.", "My boss is Omar Lind now.")
NUMBERS = ("My phone number is 111 222 333.", "My phone number is 444 555 666.")
ENGRAM = preset("engram")
ANYTHING = ENGRAM.model_copy(update={"retrieve": ENGRAM.retrieve.model_copy(update={"relevance_threshold": 0.0})})
"""Quotes whatever is found."""


def in_month(number, text):
    """Return what Ana says on the first of a month."""
    return {"speaker": "Ana", "text": text, "said_at": datetime(2024, number, 1, tzinfo=UTC)}


def told(said, query):
    """Remember what Ana says, a month apart, and give the lines of what is recalled."""
    with Memory("memory:", "rules", encoder=HashingEncoder(), settings=ANYTHING) as memory:
        for month, text in enumerate(said, start=1):
            memory.remember([in_month(month, text)], user_id="u", session_id=f"s{month}")
        return memory.recall(query, user_id="u").answer.splitlines()


@pytest.mark.parametrize(
    ("said", "query", "now", "before"),
    [
        (HOMES, "What is the name of Ana's dog?", HOMES[2], HOMES[0]),
        (HOMES, "Where did Ana live before?", HOMES[2], HOMES[1]),
        (BOSSES, "Who is strict?", BOSSES[1], BOSSES[0]),
        (BOSSES, "Who was Ana's former boss?", BOSSES[1], BOSSES[0]),
        (NUMBERS, "What was Ana's previous phone number?", NUMBERS[1], NUMBERS[0]),
    ],
)
def test_what_was_superseded_is_quoted_behind_what_took_its_place(said, query, now, before):
    """A sentence is superseded for one thing that it says, and not for the others."""
    line = next(line for line in told(said, query) if before in line)

    assert line.startswith("Ana, 1 ")
    assert f'"{now}" Before, ' in line
    assert line.index(now) < line.index(before)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_fact_that_is_changed_back_holds_again(memory, user, at_once):
    """The newest statement stands, though its words are those of the first one."""
    said = [in_month(month, f"I live in {home}.") for month, home in enumerate(("Lisbon", "Porto", "Lisbon"), start=1)]
    for messages in [said] if at_once else [[message] for message in said]:
        memory.remember(messages, user_id=user, session_id="s1")

    standing = {record.content for record in memory.show("records", user) if record.status == "active"}

    assert standing == {"Ana: I live in Lisbon."}


def test_a_change_is_told_by_one_synthesis(syntheses_at_once):
    """What replaces a record is told where it was said; the old synthesis does not tell it a second time."""
    with Memory("memory:", "rules", encoder="hashing") as memory:
        for month, home in enumerate(("Lisbon", "Porto", "Rome", "Faro"), start=1):
            said = [in_month(month, f"I live in {home}.")]
            memory.remember(said, user_id="u", session_id=f"s{month}", close_session=True)
        texts = [synthesis.text for synthesis in memory.show("syntheses", "u") if synthesis.status == "active"]

    assert len(texts) == len(set(texts))
    assert sum("Faro" in text for text in texts) == 1


@pytest.mark.parametrize("later", ["The deadline has moved to 10 October.", "The deadline is now October 10."])
def test_a_day_that_was_moved_supersedes_the_one_before(later):
    """Two days of one thing are no two events."""
    lines = told(("The deadline is September 3.", later), "When is the deadline?")

    assert later.rstrip(".") in lines[0]
    assert not any("September" in line.partition(" Before, ")[0] for line in lines)
