"""Run a data set: write each conversation into a memory of its own, ask its questions, and keep a line of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Generic, TypedDict, TypeVar

from engram_lab.datasets import Conversation, Q
from engram_lab.evidence_scores import BUDGETS
from engram_lab.harness import Progress, RecallFigures, Setup, WriteFigures, measure_recall, run_report
from engram_lab.resume import KeyedLine, LineKey, RunFolder, check_unique, fingerprint, open_run
from langgraph_engram.errors import InvalidInput
from langgraph_engram.memory import Memory


class AnsweredLine(RecallFigures, KeyedLine):
    """One question, what was found for it at each budget, and what was answered."""


Line = TypeVar("Line", bound=AnsweredLine)
Ask = Callable[[Memory, Conversation[Q], Q], Line]
"""Asks a question of the memory of its conversation."""


class Keeping(TypedDict, total=False):
    """How a run is made and kept."""

    out: str | PathLike[str] | None
    """A folder for the memories and for `questions.jsonl`, one line a question, from which every figure can be
    recomputed. A run that was cut short goes on there; with a higher limit, one that was not."""
    concurrency: int
    """How many questions are asked at once. Seconds are those of questions that share the machine."""
    progress: Progress | None
    """Called with each step."""


@dataclass(frozen=True)
class Measured(Generic[Line]):
    """What a run has left."""

    setup: Setup
    resumed: int
    """Lines that were there before."""
    lines: list[Line]
    written: list[WriteFigures]

    def report(
        self, figures: Mapping[str, object], seconds: Mapping[str, object] = {}, written: Mapping[str, object] = {}
    ) -> dict[str, object]:
        """Return figures of the lines beside what the run was, cost and took, as plain JSON.

        Rates are in [0, 1], times in seconds; None stands for what does not apply.
        """
        took = run_report(self.lines, self.written, seconds, written)
        return {**self.setup.names(), "resumed": self.resumed, **figures, **took}


def measure(
    command: str,
    path: str | PathLike[str],
    setup: Setup,
    conversations: Sequence[Conversation[Q]],
    kind: type[Line],
    ask: Ask[Q, Line] | None = None,
    *,
    budgets: Sequence[int] = BUDGETS,
    one_by_one: bool = True,
    out: str | PathLike[str] | None = None,
    concurrency: int = 1,
    progress: Progress | None = None,
) -> Measured[Line]:
    """Write the conversations of a file and ask their questions."""
    keys = [question.key for conversation in conversations for question in conversation.questions]
    check_unique(keys, path)
    made_with = {"command": command, "data": fingerprint(path), "budgets": budgets, **setup.described()}

    def recall(memory: Memory, conversation: Conversation[Q], question: Q) -> Line:
        return kind(**dict(question), **dict(recalled(memory, conversation, question, budgets)))

    named = {f"{number}": conversation for number, conversation in enumerate(conversations)}
    with open_run(out, made_with, kind) as run:
        write = _write_and_ask if one_by_one else _write_and_ask_at_once
        write(run, setup, named, ask or recall, concurrency, progress)
        lines = run.finish(keys)
        written = [figures for name in named if (figures := run.written(name))]
    return Measured(setup, run.resumed, lines, written)


def require_questions(conversations: Sequence[Conversation[Q]], path: str | PathLike[str], limit: int | None) -> None:
    """Check that there is something to ask, before anything is written."""
    if not any(conversation.questions for conversation in conversations):
        raise InvalidInput(f"no question to ask: {path} has none that is measured, or limit {limit!r} leaves none")


def recalled(
    memory: Memory, conversation: Conversation[Q], question: Q, budgets: Sequence[int] = BUDGETS
) -> RecallFigures:
    """Measure what a memory finds and answers."""
    return measure_recall(memory, conversation.name, question.question, conversation.asked_at, budgets)


def _write_and_ask(
    run: RunFolder[Line],
    setup: Setup,
    conversations: dict[str, Conversation[Q]],
    ask: Ask[Q, Line],
    concurrency: int,
    progress: Progress | None,
) -> None:
    """Write one conversation after the other and ask its questions."""
    for name, conversation in conversations.items():
        run.write_memory(name, setup.open_writer, conversation.sessions, conversation.name, progress)
        tasks: dict[LineKey, Q] = {question.key: question for question in conversation.questions}
        if unanswered := run.unanswered(tasks):
            with setup.open_reader(str(run.memory(name))) as memory:
                _warm_up(memory, conversation, next(iter(unanswered.values())))
                run.ask_all(
                    tasks, _asking(ask, memory, conversation), concurrency, progress, f"asking {conversation.name}"
                )


def _asking(ask: Ask[Q, Line], memory: Memory, conversation: Conversation[Q]) -> Callable[[Q], Line]:
    return lambda question: ask(memory, conversation, question)


def _write_and_ask_at_once(
    run: RunFolder[Line],
    setup: Setup,
    conversations: dict[str, Conversation[Q]],
    ask: Ask[Q, Line],
    concurrency: int,
    progress: Progress | None,
) -> None:
    """Write conversations of one question each and ask it, several at once; the memory goes once it is answered."""

    def answer(task: tuple[str, Conversation[Q]]) -> Line:
        name, conversation = task
        [question] = conversation.questions
        run.write_memory(name, setup.open_writer, conversation.sessions, conversation.name)
        with setup.open_reader(str(run.memory(name))) as memory:
            _warm_up(memory, conversation, question)
            return ask(memory, conversation, question)

    tasks: dict[LineKey, tuple[str, Conversation[Q]]] = {
        conversation.questions[0].key: (name, conversation) for name, conversation in conversations.items()
    }
    run.ask_all(tasks, answer, concurrency, progress, after=lambda task: run.drop_memory(task[0]))


def _warm_up(memory: Memory, conversation: Conversation[Q], question: Q) -> None:
    """Search once without taking the time: the first search of a process loads the index."""
    memory.search(question.question, user_id=conversation.name)
