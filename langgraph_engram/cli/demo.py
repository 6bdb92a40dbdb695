"""`engram demo`: remember the sample conversation, and ask the questions that go with it.

The memory stays, for the next command.
"""

import json
from dataclasses import replace
from importlib.resources import files
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_engram.cli.options import Invocation, shared
from langgraph_engram.cli.output import print_counts, print_json, print_recollection, print_text, progress

if TYPE_CHECKING:
    from langgraph_engram.formats.messages import Session
    from langgraph_engram.results import Recollection

DEMO_USER = "demo"


def load_sessions() -> "list[Session]":
    """Return the sample conversation, oldest session first."""
    from langgraph_engram.formats.files import own_sessions

    return own_sessions(json.loads(_read("conversation.json")))


def load_questions() -> list[dict[str, Any]]:
    """Return the questions in the order in which they are asked; exactly one has no answer.

    Each has its expected answer, in words of a quote that answers, and verdict, what it tests (`asks_for`), and the
    turns that hold the answer (`evidence`: a session, and the turn's index in it from 0).
    """
    questions: list[dict[str, Any]] = json.loads(_read("questions.json"))
    return questions


@shared("model", "preset", "as_json")
def demo(
    command: Invocation,
    store: Annotated[
        str, typer.Option(help="A folder, or the URL of a Chroma server, that the memory stays in.")
    ] = "./engram-demo",
) -> None:
    """Remember a sample conversation of a year, and answer ten questions. Needs no key and no network."""
    questions = load_questions()
    with progress("opening the memory") as show_step, replace(command, store=store).open() as memory:
        receipt = memory.remember_sessions(load_sessions(), user_id=DEMO_USER, progress=show_step)
        answers: list[Recollection] = []
        for question in questions:
            show_step("asking", len(answers), len(questions))
            answers.append(memory.recall(question["question"], user_id=DEMO_USER))
    asked = [*zip(questions, answers, strict=True)]
    if command.as_json:
        print_json({"answers": [_as_json(*pair) for pair in asked], "receipt": receipt})
        return
    print_text("A year of messages between Maren, Idris and their assistant")
    print_counts(receipt)
    for number, (question, recollection) in enumerate(asked, start=1):
        print_text(f"\n{number}. {question['question']}", "cyan")
        print_text(f"expected: {question['expected'] or 'no answer'}", "dim", indent=3)
        print_recollection(recollection, indent=3)
    _print_next(f"--user {DEMO_USER} --store {quote(store)}")


def _as_json(question: dict[str, Any], recollection: "Recollection") -> dict[str, object]:
    shown = recollection.model_dump(include={"answer", "verdict", "evidence", "usage"}, mode="json")
    asked = {"question": question["question"], "expected": question["expected"]}
    return {**asked, "expected_verdict": question["verdict"], **shown}


def _print_next(same_memory: str) -> None:
    print_text("\nThe memory stays. Ask it yourself, look at it, then begin your own:", "bold")
    for command in (
        f'engram recall "When is Maren\'s wedding?" --as-of 2024-06-30 {same_memory}',
        f'engram recall "Who is Biscuit?" {same_memory}',
        f"engram status {same_memory}",
        f"engram inspect {same_memory}",
        "engram remember FILE --user YOU",
    ):
        print_text(command, indent=3)


def _read(name: str) -> str:
    return files("langgraph_engram.cli").joinpath(name).read_text(encoding="utf-8")
