"""Run a data set: write each conversation into a memory of its own, ask its questions, and keep a line of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypedDict, TypeVar

from engram_lab.datasets import Conversation, Q
from engram_lab.evidence_scores import BUDGETS
from engram_lab.harness import (
    WRITTEN,
    Figures,
    Progress,
    RecallFigures,
    Setup,
    StrPath,
    WriteFigures,
    cost_by_node,
    mean,
    measure_recall,
    percentiles,
    recall_times,
    shown_means,
)
from engram_lab.resume import KeyedLine, RunFolder, check_unique, fingerprint, open_run
from langgraph_engram.errors import InvalidInput
from langgraph_engram.memory import Memory


class AnsweredLine(RecallFigures, KeyedLine):
    """One question, what was found for it at each budget, and what was answered."""


Line = TypeVar("Line", bound=AnsweredLine)


class Keeping(TypedDict, total=False):
    """How a run is made and kept."""

    out: StrPath | None
    """A folder for the memories and for `questions.jsonl`, one line a question, from which every figure can be
    recomputed. A run that was cut short goes on there; with a higher limit, one that was not."""
    concurrency: int
    """How many questions are asked at once. Seconds are those of questions that share the machine."""
    progress: Progress


@dataclass(frozen=True)
class Measured(Generic[Line]):
    """What a run has left."""

    setup: Setup
    resumed: int
    lines: list[Line]
    written: list[WriteFigures]

    def report(
        self, figures: Mapping[str, object], seconds: Mapping[str, object] = {}, counts: Mapping[str, object] = {}
    ) -> Figures:
        """Return figures of the lines beside what the run was, cost and took, as plain JSON.

        Rates are in [0, 1], times in seconds; None stands for what does not apply.
        """
        return {
            **self.setup.names(),
            "resumed": self.resumed,
            **figures,
            "deep_ratio": mean(line.went_deep for line in self.lines),
            "usage": {
                "write": cost_by_node([write.usage for write in self.written]),
                "read": cost_by_node([line.read for line in self.lines]),
            },
            "seconds": {
                "write": sum(write.seconds for write in self.written),
                "write_processor": sum(write.processor_seconds for write in self.written),
                **percentiles([line.read_seconds for line in self.lines], "read_"),
                **recall_times(self.lines),
                **seconds,
            },
            "peak_memory_mib": max((write.peak_memory_mib for write in self.written), default=0),
            "shown": shown_means(self.lines),
            "written": {**{name: sum(write.counts[name] for write in self.written) for name in WRITTEN}, **counts},
        }


def measure(
    command: str,
    path: StrPath,
    setup: Setup,
    conversations: Sequence[Conversation[Q]],
    kind: type[Line],
    more: Callable[[Conversation[Q], Q], Mapping[str, object]] = lambda _conversation, _question: {},
    *,
    budgets: Sequence[int] = BUDGETS,
    one_by_one: bool = True,
    out: StrPath | None = None,
    concurrency: int = 1,
    progress: Progress = None,
) -> Measured[Line]:
    """Write the conversations of a file and ask their questions; `more` gives further fields of a line.

    One conversation is written after the other, and its questions are asked together; or else conversations of one
    question each are written and asked together, and a memory goes once its question is answered.
    """
    keys = [question.key for conversation in conversations for question in conversation.questions]
    check_unique(keys, path)
    made_with = {"command": command, "data": fingerprint(path), "budgets": budgets, **setup.described()}

    def ask(memory: Memory, conversation: Conversation[Q], question: Q) -> Line:
        user_id, now = conversation.name, conversation.asked_at
        found = measure_recall(memory, user_id, question.question, now, budgets)
        return kind(**dict(question), **dict(found), **more(conversation, question))

    named = {f"{number}": conversation for number, conversation in enumerate(conversations)}
    with open_run(out, made_with, kind) as run:
        asking = _Asking(run, setup, named, ask, concurrency, progress)
        asking.one_by_one() if one_by_one else asking.at_once()
        lines = run.finish(keys)
        written = [figures for name in named if (figures := run.written(name))]
    return Measured(setup, run.resumed, lines, written)


@dataclass(frozen=True)
class _Asking(Generic[Q, Line]):
    """Conversations that are written into memories of their own, and asked about."""

    run: RunFolder[Line]
    setup: Setup
    conversations: Mapping[str, Conversation[Q]]
    ask: Callable[[Memory, Conversation[Q], Q], Line]
    concurrency: int
    progress: Progress

    def one_by_one(self) -> None:
        for name, conversation in self.conversations.items():
            self.run.write_memory(name, self.setup.open_writer, conversation.sessions, conversation.name, self.progress)
            tasks = {question.key: question for question in conversation.questions}
            if self.run.unanswered(tasks):
                with self._warm(name) as memory:
                    asked = partial(self.ask, memory, conversation)
                    self.run.ask_all(tasks, asked, self.concurrency, self.progress, f"asking {conversation.name}")

    def at_once(self) -> None:
        def answer(name: str) -> Line:
            conversation = self.conversations[name]
            self.run.write_memory(name, self.setup.open_writer, conversation.sessions, conversation.name)
            with self._warm(name) as memory:
                return self.ask(memory, conversation, conversation.questions[0])

        tasks = {conversation.questions[0].key: name for name, conversation in self.conversations.items()}
        self.run.ask_all(tasks, answer, self.concurrency, self.progress, after=self.run.drop_memory)

    @contextmanager
    def _warm(self, name: str) -> Iterator[Memory]:
        """Open a memory, and search once without taking the time: the first search of a process loads the index."""
        conversation = self.conversations[name]
        with self.setup.open_reader(str(self.run.memory(name))) as memory:
            memory.search(conversation.questions[0].question, user_id=conversation.name)
            yield memory


def require_questions(conversations: Sequence[Conversation[Q]], path: StrPath, limit: int | None) -> None:
    """Check that there is something to ask, before anything is written."""
    if not any(conversation.questions for conversation in conversations):
        raise InvalidInput(f"no question to ask: {path} has none that is measured, or limit {limit!r} leaves none")
