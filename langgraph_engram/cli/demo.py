"""`engram demo`: remember the sample conversation, ask the questions that go with it, show their evidence and cost.

Then it reads memory as it stood, forgets something, and lets an agent use the memory, which stays for the next command.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_engram.cli.options import Invocation, shared
from langgraph_engram.cli.output import (
    format_cost,
    format_receipt,
    print_json,
    print_recollection,
    print_text,
    progress_bar,
    spinner,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langgraph_engram.formats.messages import Session
    from langgraph_engram.memory import Memory
    from langgraph_engram.results import Receipt, Recollection

DEMO_USER = "demo"
PLAN = "When is Maren's wedding?"
BEFORE_THE_FLOOD = "2024-06-30"
SECRET_SESSION = "locker"
SECRET = "The code of my locker at the clinic is 4711."
CONVERSATION = "conversation with an agent"
ABOUT_SECRET = "What is the code of Maren's locker?"


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
    """Remember a sample conversation of a year, answer ten questions, and show more. Needs no key and no network."""
    questions, command = load_questions(), replace(command, store=store)
    with command.open() as memory:
        with progress_bar("opening the memory") as bar:
            receipt = memory.remember_sessions(load_sessions(), user_id=DEMO_USER, progress=bar)
            answers = []
            for index, question in enumerate(questions):
                bar("asking", index, len(questions))
                answers.append(memory.recall(question["question"], user_id=DEMO_USER))
        if not command.as_json:
            _print(receipt, questions, answers)
        with spinner("reading the past, forgetting, and asking an agent"):
            scenes = {
                "As memory stood": _read_the_past(memory),
                "Erasure": _forget(memory),
                "An agent, in a new conversation": _ask_an_agent(command, memory),
            }
    if command.as_json:
        pairs = [_as_json(*pair) for pair in zip(questions, answers, strict=True)]
        print_json({"answers": pairs, "receipt": receipt, "scenes": scenes})
    else:
        _print_scenes(scenes, f"--user {DEMO_USER} --store {quote(store)}")


def _read_the_past(memory: "Memory") -> list[str]:
    """Ask the same question of memory as it is and as it stood on a day."""
    now = memory.recall(PLAN, user_id=DEMO_USER)
    then = memory.recall(PLAN, user_id=DEMO_USER, as_of=BEFORE_THE_FLOOD)
    return [PLAN, f"now: {_first_line(now)}", f"--as-of {BEFORE_THE_FLOOD}: {_first_line(then)}"]


def _forget(memory: "Memory") -> list[str]:
    """Tell memory something, and erase it with all that came of it."""
    memory.remember([{"speaker": "Maren", "text": SECRET}], user_id=DEMO_USER, session_id=SECRET_SESSION)
    before = memory.recall(ABOUT_SECRET, user_id=DEMO_USER)
    erased = memory.forget(user_id=DEMO_USER, session_id=SECRET_SESSION)
    after = memory.search(ABOUT_SECRET, user_id=DEMO_USER)
    left = sum("4711" in evidence.text for evidence in after.evidence)
    return [
        ABOUT_SECRET,
        f"before: {_first_line(before)}",
        f"forget --session {SECRET_SESSION}: {erased.turns} turn and {erased.records} record erased",
        f"after: {left} passages with '4711'",
    ]


def _ask_an_agent(command: Invocation, memory: "Memory") -> list[str]:
    """Ask an agent in a new conversation what was said in another."""
    if find_spec("langchain") is None:
        return ["needs the extra agents: pip install 'langgraph-engram[agents]'"]
    from langgraph_engram.config import resolve_chat
    from langgraph_engram.integrations.agent import Context, build_agent

    said = {"messages": [("user", PLAN)]}
    thread: RunnableConfig = {"configurable": {"thread_id": CONVERSATION}}
    agent = build_agent(memory, str(command.choice.model), resolve_chat(environment=command.defaults.variables))
    reply = agent.invoke(said, thread, context=Context(user_id=DEMO_USER))
    memory.forget(user_id=DEMO_USER, session_id=CONVERSATION)  # the year ends where it did
    return [f"user: {PLAN}", f"agent: {reply['messages'][-1].text}"]


def _first_line(recollection: "Recollection") -> str:
    return (recollection.answer or recollection.verdict).splitlines()[0]


def _as_json(question: dict[str, Any], recollection: "Recollection") -> dict[str, object]:
    shown = recollection.model_dump(include={"answer", "verdict", "evidence", "usage"}, mode="json")
    asked = {"question": question["question"], "expected": question["expected"]}
    return {**asked, "expected_verdict": question["verdict"], **shown}


def _print(receipt: "Receipt", questions: list[dict[str, Any]], answers: "list[Recollection]") -> None:
    print_text("A year of messages between Maren, Idris and their assistant")
    print_text(format_receipt(receipt), "bold")
    print_text(f"cost: {format_cost(receipt.usage)}", "dim")
    for number, (question, recollection) in enumerate(zip(questions, answers, strict=True), start=1):
        print_text()
        print_text(f"{number}. {question['question']}", "cyan")
        print_text(f"expected: {question['expected'] or 'no answer'}", "dim", indent=3)
        print_recollection(recollection, indent=3)


def _print_scenes(scenes: Mapping[str, list[str]], same_memory: str) -> None:
    for title, lines in scenes.items():
        print_text()
        print_text(title, "cyan")
        for line in lines:
            print_text(line, indent=3, hang=2)
    print_text()
    print_text("The memory stays. Ask it yourself, look at it, then begin your own:", "bold")
    for command in (
        f'engram recall "Who is Biscuit?" {same_memory}',
        f"engram status {same_memory}",
        f"engram inspect {same_memory}",
        "engram remember FILE --user YOU",
    ):
        print_text(command, indent=3)


def _read(name: str) -> str:
    return files("langgraph_engram.cli").joinpath(name).read_text(encoding="utf-8")
