"""`engram demo`: remember the sample conversation, ask the questions that go with it, show their evidence and cost."""

from collections.abc import Callable
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from langgraph_engram.commands.opening import open_memory
from langgraph_engram.commands.options import AsJson, Model, Preset, Store
from langgraph_engram.commands.output import print_json, say
from langgraph_engram.commands.progress import progress_bar
from langgraph_engram.commands.wording import counted, say_recollection, word_cost, word_receipt
from langgraph_engram.results import Receipt, Recollection

if TYPE_CHECKING:
    from langgraph_engram.demo import DemoQuestion
    from langgraph_engram.memory import Memory

DEMO_USER = "demo"
Progress = Callable[[str, int, int], None]


def demo(store: Store = None, model: Model = None, preset: Preset = None, as_json: AsJson = False) -> None:
    """Remember a sample conversation of a year and answer ten questions from it. Needs no key and no network."""
    from langgraph_engram.demo import load_questions

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
    from langgraph_engram.demo import load_sessions

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
    say(word_receipt(receipt), "bold")
    say(f"cost: {word_cost(receipt.usage)}", "dim")
    for number, (question, told) in enumerate(zip(questions, answers, strict=True), start=1):
        say()
        say(f"{number}. {question.question}", "cyan")
        say(f"expected: {question.expected or 'no answer'}", "dim", indent=3)
        say_recollection(told, indent=3)
    say()
    say(f"{counted(len(answers), 'question')} asked. Ask your own: engram remember FILE --user YOU", "dim")
