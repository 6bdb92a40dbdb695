"""Hold the sample conversation of `engram demo`, and questions about it with the answers that it supports.

A year of messages between two friends, Maren and Idris, and an assistant; people and places are invented. This module
does not know how anything is remembered or answered.
"""

import json
from importlib.resources import files
from typing import Literal

from pydantic import TypeAdapter

from langgraph_engram.formats.conversation import Session
from langgraph_engram.formats.files import own_sessions
from langgraph_engram.schema import Frozen

CONVERSATION_FILE = "conversation.json"
QUESTIONS_FILE = "questions.json"


class TurnPlace(Frozen):
    """Where something was said."""

    session_id: str
    turn: int
    """The turn's place in its session, from 0."""


class DemoQuestion(Frozen):
    """A question about the sample conversation, and what it ought to find."""

    question: str
    expected: str
    """The answer in short; empty where the conversation holds none."""
    verdict: Literal["sufficient", "absent"]
    asks_for: str
    """What the question tries: a changed plan, a corrected fact, advice of the assistant."""
    evidence: list[TurnPlace]
    """The turns on which the answer rests."""


def load_sessions() -> list[Session]:
    """Give the sample conversation, oldest session first."""
    return own_sessions(json.loads(_text(CONVERSATION_FILE)))


def load_questions() -> list[DemoQuestion]:
    """Give the questions in the order in which they are asked; exactly one has no answer."""
    return TypeAdapter(list[DemoQuestion]).validate_json(_text(QUESTIONS_FILE))


def _text(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
