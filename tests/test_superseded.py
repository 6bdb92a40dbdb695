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


def told(said, query):
    """Remember what Ana says, a month apart, and give the lines of what is recalled."""
    with Memory("memory:", "rules", encoder=HashingEncoder(), settings=ANYTHING) as memory:
        for month, text in enumerate(said, start=1):
            message = {"speaker": "Ana", "text": text, "said_at": datetime(2024, month, 1, tzinfo=UTC)}
            memory.remember([message], user_id="u", session_id=f"s{month}")
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
