"""No call takes time that grows faster than what it is given: four times the text is about four times the work.

Twice that is allowed, and an eighth of a second of this process on top: what grows with the square takes sixteen times
as much.
"""

import time
from uuid import uuid4

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.screening import mask_secrets

GROWTH = 4
"""How many times as long the larger text is."""
SIZES = [3_900, pytest.param(25_000, marks=[pytest.mark.campaign, pytest.mark.timeout(600)])]
"""Characters of the smaller text."""
SLACK = 0.125
"""Seconds."""


def repeated(pattern):
    """Return what makes a text of a length; {} in the pattern is a number that goes up."""
    return lambda size: "".join(pattern.format(number) for number in range(size // len(pattern.format(10))))


SHAPES = {
    "one line": repeated("word{} "),
    "one word": repeated("a"),
    "short sentences": repeated("I saw {} owls. "),
    "the same sentence": repeated("I like it. "),
    "a table": lambda size: "| item | price |\n|---|---|\n" + repeated("| thing{0} | {0} euro |\n")(size),
    "unclosed fences": repeated("```python\nx = {}\n"),
    "an unclosed fence": lambda size: "```\n" + repeated("x = {}\n")(size),
    "a list": repeated("- item {}\n"),
    "headings": repeated("# Part {}\n\nSome of it.\n\n"),
    "brackets": repeated("[("),
    "links": repeated("[a](b "),
    "emphasis": repeated("*a _b "),
    "backticks": repeated("`"),
    "quotes": repeated('"'),
    "quoted lines": repeated("> "),
    "tags": repeated("<a "),
    "digits": repeated("4"),
    "dates": repeated("last week, 2023-05-01, "),
    "names": repeated("Ana met Ben. "),
    "negation": repeated("not "),
    "keys": repeated("-----BEGIN PRIVATE KEY-----"),
    "tokens": repeated("eyJ"),
    "spaces": lambda size: "a" + " " * size + "b",
    "lines": repeated("a\n"),
}


def cpu_seconds(work):
    """Return the processor's seconds that a function takes in this process, whatever else the machine does."""
    start = time.process_time()
    work()
    return time.process_time() - start


def grows_as_its_text(work, size):
    """Return whether four times the size takes about four times as long; of a size that fails, a second try counts."""
    for _ in range(2):
        more = cpu_seconds(lambda: work(size * GROWTH)) - SLACK
        if more <= 0 or more <= 2 * GROWTH * cpu_seconds(lambda: work(size)):
            return True
    return False


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_a_message_takes_as_long_as_it_is(memory, shape, role, size):
    """Whoever says it, and whatever it is made of: remembered, searched for, and asked about."""

    def work(size):
        text, user = SHAPES[shape](size), uuid4().hex
        memory.remember([{"role": role, "content": text}], user_id=user, close_session=True)
        memory.search(text, user_id=user)
        memory.recall(text, user_id=user)
        mask_secrets(text)

    assert grows_as_its_text(work, size)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("size", [10, pytest.param(80, marks=pytest.mark.campaign)])
def test_statements_that_contradict_each_other_take_as_long_as_they_are_many(size, at_once):
    """Of all homes there is one in the end, and each was decided on once, be they said in one message."""

    def work(size):
        homes = [f"I live in Town{number}." for number in range(size)]
        with Memory("memory:", "rules", encoder=HashingEncoder()) as memory:
            for number, text in enumerate([" ".join(homes)] if at_once else homes):
                memory.remember([{"speaker": "Ana", "text": text}], user_id="ana", session_id=f"s{number}")

    assert grows_as_its_text(work, size)
