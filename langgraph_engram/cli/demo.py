"""`engram demo`: remember the sample conversation, ask the questions that go with it, show their evidence and cost."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from langgraph_engram.cli.format import format_cost, format_count, format_receipt, print_recollection
from langgraph_engram.cli.options import AsJson, Model, Preset, Store, open_memory
from langgraph_engram.cli.output import print_json, print_text, progress_bar

if TYPE_CHECKING:
    from langgraph_engram.formats.messages import Session
    from langgraph_engram.results import Receipt, Recollection

DEMO_USER = "demo"
CONVERSATION_FILE = "conversation.json"
QUESTIONS_FILE = "questions.json"


@dataclass(frozen=True)
class TurnReference:
    """A turn of the sample conversation."""

    session_id: str
    turn: int
    """The turn's index in its session, from 0."""


@dataclass(frozen=True)
class DemoQuestion:
    """A question about the sample conversation, and its expected result."""

    question: str
    expected: str
    """What a quote that answers contains; empty where the conversation holds no answer."""
    verdict: Literal["partial", "absent"]
    asks_for: str
    """What the question tests: a changed plan, a corrected fact, advice of the assistant."""
    evidence: list[TurnReference]
    """The turns that hold the answer."""


def load_sessions() -> "list[Session]":
    """Return the sample conversation, oldest session first."""
    from langgraph_engram.formats.files import own_sessions

    return own_sessions(json.loads(_read(CONVERSATION_FILE)))


def load_questions() -> list[DemoQuestion]:
    """Return the questions in the order in which they are asked; exactly one has no answer."""
    return [
        DemoQuestion(**{**question, "evidence": [TurnReference(**turn) for turn in question["evidence"]]})
        for question in json.loads(_read(QUESTIONS_FILE))
    ]


def demo(store: Store = None, model: Model = None, preset: Preset = None, as_json: AsJson = False) -> None:
    """Remember a sample conversation of a year and answer ten questions from it. Needs no key and no network."""
    questions = load_questions()
    answers: list[Recollection] = []
    with ExitStack() as stack:
        bar = stack.enter_context(progress_bar("opening the memory"))
        folder = store or stack.enter_context(TemporaryDirectory(prefix="engram-demo-", ignore_cleanup_errors=True))
        memory = stack.enter_context(open_memory(folder, model, preset))
        receipt = memory.remember_sessions(load_sessions(), user_id=DEMO_USER, progress=bar)
        for index, question in enumerate(questions):
            bar("asking", index, len(questions))
            answers.append(memory.recall(question.question, user_id=DEMO_USER))
    if as_json:
        print_json({"answers": [_as_json(*pair) for pair in zip(questions, answers, strict=True)], "receipt": receipt})
    else:
        _print(receipt, questions, answers)


def _as_json(question: DemoQuestion, recollection: "Recollection") -> dict[str, object]:
    return {
        "question": question.question,
        "expected": question.expected,
        "expected_verdict": question.verdict,
        "answer": recollection.answer,
        "verdict": recollection.verdict,
        "evidence": recollection.evidence,
        "usage": recollection.usage,
    }


def _print(receipt: "Receipt", questions: list[DemoQuestion], answers: "list[Recollection]") -> None:
    print_text("A year of messages between Maren, Idris and their assistant")
    print_text(format_receipt(receipt), "bold")
    print_text(f"cost: {format_cost(receipt.usage)}", "dim")
    for number, (question, recollection) in enumerate(zip(questions, answers, strict=True), start=1):
        print_text()
        print_text(f"{number}. {question.question}", "cyan")
        print_text(f"expected: {question.expected or 'no answer'}", "dim", indent=3)
        print_recollection(recollection, indent=3)
    print_text()
    print_text(f"{format_count(len(answers), 'question')} asked. Ask your own: engram remember FILE --user YOU", "dim")


def _read(name: str) -> str:
    return files("langgraph_engram.cli").joinpath(name).read_text(encoding="utf-8")
