"""What has changed is quoted with what took its place, or not at all; what was said besides still holds."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.embeddings.hashing import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset

HOMES = ("I live in Rome with my dog Rex.", "I moved to Oslo with my cat Miso.", "I live in Kyiv now.")
BOSSES = ("My boss is Ruth Weaver, she is strict.", "My boss is Omar Lind now.")
NUMBERS = ("My phone number is 111 222 333.", "My phone number is 444 555 666.")
ENGRAM = preset("engram")
ANYTHING = ENGRAM.model_copy(update={"retrieve": ENGRAM.retrieve.model_copy(update={"relevance_threshold": 0.0})})
"""Quotes whatever is found."""


@pytest.fixture
def told():
    """Remember what Ana says, a month apart, and give the lines of what is recalled."""

    def recall(said, query):
        with Memory("memory:", "rules", encoder=HashingEncoder(), settings=ANYTHING) as memory:
            for month, text in enumerate(said, start=1):
                message = {"speaker": "Ana", "text": text, "said_at": datetime(2024, month, 1, tzinfo=UTC)}
                memory.remember([message], user_id="u", session_id=f"s{month}")
            return memory.recall(query, user_id="u").answer.splitlines()

    return recall


@pytest.mark.parametrize(
    ("said", "query", "quoted", "changed"),
    [
        (HOMES, "Where does Ana live now?", HOMES[2], None),
        (HOMES, "What is the name of Ana's dog?", HOMES[0], HOMES[2]),
        (BOSSES, "Who is strict?", BOSSES[0], BOSSES[1]),
        (BOSSES, "Who was Ana's former boss?", BOSSES[0], BOSSES[1]),
        (NUMBERS, "What was Ana's previous phone number?", NUMBERS[0], NUMBERS[1]),
        (NUMBERS, "What is Ana's phone number?", NUMBERS[1], None),
    ],
)
def test_what_was_superseded_is_quoted_with_what_took_its_place(told, said, query, quoted, changed):
    """A sentence is superseded for one thing that it says, and not for the others."""
    lines = told(said, query)

    line = next(line for line in lines if line.partition(": ")[2].startswith(f'"{quoted}"'))
    assert ("Changed since: Ana, 1" in line) is (changed is not None)
    assert changed is None or changed in line


@pytest.mark.parametrize("query", ["Where does Ana live?", "Where did Ana live before?", "Does Ana live in Oslo?"])
def test_an_outdated_statement_never_stands_alone(told, query):
    """Every line that quotes it says what has changed."""
    lines = told(HOMES, query)

    assert any(HOMES[2] in line for line in lines)
    assert all("Changed since: " in line for line in lines if "Rome" in line.partition(" Changed")[0])
    assert all("Changed since: " in line for line in lines if "Oslo" in line.partition(" Changed")[0])
