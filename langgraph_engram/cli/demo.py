"""`engram demo`: remember the sample conversation, ask the questions that go with it, show their evidence and cost."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

from langgraph_engram.cli.format import counted, format_cost, format_receipt, print_recollection
from langgraph_engram.cli.opening import open_memory
from langgraph_engram.cli.options import AsJson, Model, Preset, Store
from langgraph_engram.cli.output import print_json, progress_bar, say
from langgraph_engram.results import Receipt, Recollection
from langgraph_engram.schema import Frozen

if TYPE_CHECKING:
    from langgraph_engram.formats.messages import Session
    from langgraph_engram.memory import Memory


DEMO_USER = "demo"
Progress = Callable[[str, int, int], None]


def demo(store: Store = None, model: Model = None, preset: Preset = None, as_json: AsJson = False) -> None:
    """Remember a sample conversation of a year and answer ten questions from it. Needs no key and no network."""
    questions = load_questions()
    with ExitStack() as stack:
        bar = stack.enter_context(progress_bar("opening the memory"))
        folder = store or stack.enter_context(TemporaryDirectory(prefix="engram-demo-", ignore_cleanup_errors=True))
        memory = stack.enter_context(open_memory(folder, model, preset))
        receipt = _remember(memory, bar)
        answers = _ask(memory, questions, bar)
    if as_json:
        print_json({"answers": [_as_json(*pair) for pair in zip(questions, answers, strict=True)], "receipt": receipt})
    else:
        _show(receipt, questions, answers)


def _remember(memory: "Memory", progress: Progress) -> Receipt:

    return memory.remember_sessions(load_sessions(), user_id=DEMO_USER, progress=progress)


def _ask(memory: "Memory", questions: "list[DemoQuestion]", progress: Progress) -> list[Recollection]:
    answers = []
    for place, question in enumerate(questions):
        progress("asking", place, len(questions))
        answers.append(memory.recall(question.question, user_id=DEMO_USER))
    return answers


def _as_json(question: "DemoQuestion", told: Recollection) -> dict[str, object]:
    return {
        "question": question.question,
        "expected": question.expected,
        "expected_verdict": question.verdict,
        "answer": told.answer,
        "verdict": told.verdict,
        "evidence": told.evidence,
        "usage": told.usage,
    }


def _show(receipt: Receipt, questions: "list[DemoQuestion]", answers: list[Recollection]) -> None:
    say("A year of messages between Maren, Idris and their assistant")
    say(format_receipt(receipt), "bold")
    say(f"cost: {format_cost(receipt.usage)}", "dim")
    for number, (question, told) in enumerate(zip(questions, answers, strict=True), start=1):
        say()
        say(f"{number}. {question.question}", "cyan")
        say(f"expected: {question.expected or 'no answer'}", "dim", indent=3)
        print_recollection(told, indent=3)
    say()
    say(f"{counted(len(answers), 'question')} asked. Ask your own: engram remember FILE --user YOU", "dim")


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
    """What a quote that answers says; empty where the conversation holds no answer."""
    verdict: Literal["partial", "absent"]
    asks_for: str
    """What the question tries: a changed plan, a corrected fact, advice of the assistant."""
    evidence: list[TurnPlace]
    """The turns on which the answer rests."""


def load_sessions() -> "list[Session]":
    """Return the sample conversation, oldest session first."""
    from langgraph_engram.formats.files import own_sessions

    return own_sessions(json.loads(_text(CONVERSATION_FILE)))


def load_questions() -> list[DemoQuestion]:
    """Give the questions in the order in which they are asked; exactly one has no answer."""
    return TypeAdapter(list[DemoQuestion]).validate_json(_text(QUESTIONS_FILE))


def _text(name: str) -> str:
    return files("langgraph_engram.cli").joinpath(name).read_text(encoding="utf-8")
