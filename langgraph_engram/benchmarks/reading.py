"""Measure what a model makes of a memory when it answers (`engram bench reading`).

Rules write a conversation once for each preset; then the model is asked the same questions from each memory, from plain
turns within a budget, and from the turns that hold the answer. These are read in one call, while a memory may ask first
whether what it found suffices, and look further. Readers take turns question by question, so that a run that is cut
short compares them on the same questions.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np

from langgraph_engram.benchmarks.harness import (
    MemoryProtocol,
    Progress,
    TokenUsage,
    plain_answer,
    resume_lines,
    write_lines,
)
from langgraph_engram.benchmarks.locomo_data import CATEGORIES, LocomoQuestion, LocomoSample, read_samples
from langgraph_engram.benchmarks.reading_figures import GOLD, TURNS, LineKey, ReadingLine, compare
from langgraph_engram.errors import InvalidInput, ModelUnavailable
from langgraph_engram.llm.base import Model
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.retrieval.passages import fit_budget, turn_passage
from langgraph_engram.retrieval.scoring import min_max, top_positions
from langgraph_engram.schema import Evidence, Intent, Scope
from langgraph_engram.stores.base import Store
from langgraph_engram.text.tokens import content_stems

QUESTIONS = 60
TURN_TOKENS = 1000
"""Tokens of plain turns that the model is shown."""
WRITER = "rules"


class ReaderMemoryProtocol(MemoryProtocol, Protocol):
    """A memory with its store and its model."""

    store: Store
    model: Model


PresetMemoryOpener = Callable[[str, str, str | None], AbstractContextManager[ReaderMemoryProtocol]]
"""Opens a memory in a folder, under a preset, with a model; None for the one that is measured."""


def run_reading(
    path: str | PathLike[str],
    open_memory: PresetMemoryOpener,
    presets: Sequence[str],
    *,
    sample_id: str | None = None,
    most: int = QUESTIONS,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure a model on one conversation of a LoCoMo file.

    Args:
        path: The file; it is read, never copied.
        open_memory: Opens a memory.
        presets: The presets to read under, each once.
        sample_id: The conversation; None for the file's first.
        most: Questions, drawn evenly from the categories; the same for the same number.
        out: A folder for `questions.jsonl`, one line a question and reader. Questions with a line are not asked again.
        progress: Called before each step.

    Returns:
        The figures as plain JSON, by reader.

    Raises:
        InvalidInput: The file has no such conversation, or it has no question.
        ModelUnavailable: The model gave no answer; the lines so far are kept.
        UnreadableFile: The file is missing or is not LoCoMo's.
    """
    sample = _select_sample(read_samples(path), sample_id)
    questions = draw_questions(sample.questions, most)
    if not presets or not questions:
        raise InvalidInput("nothing to ask: it takes a preset, and a conversation with questions of categories 1 to 4")
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="engram-bench-"))
        before, file = stack.enter_context(resume_lines(out, ReadingLine)) if out is not None else ([], None)
        memories = {
            preset: stack.enter_context(_written(open_memory, f"{folder}/{preset}", preset, sample, progress))
            for preset in dict.fromkeys(presets)
        }
        panel = ReaderPanel(sample, memories, {line.key for line in before})
        lines = [*before, *write_lines(panel.ask_all(questions, progress), file)]
    wanted = {panel.key(reader, question) for question in questions for reader in panel.readers}
    compared = [line for line in lines if line.key in wanted]
    return {"model": panel.model, "sample": sample.sample_id, **compare(compared).model_dump()}


def draw_questions(questions: Sequence[LocomoQuestion], most: int) -> list[LocomoQuestion]:
    """Draw questions at random, category after category in turn, so that any first part of them is as even.

    Those of which the file names no turn as evidence are left out: no reader could be shown it.
    """
    generator = random.Random(0)  # the same questions each time
    by_category = [[question for question in questions if question.category == category] for category in CATEGORIES]
    for group in by_category:
        generator.shuffle(group)
    longest = max(map(len, by_category))
    in_turn = [group[index] for index in range(longest) for group in by_category if index < len(group)]
    return [question for question in in_turn if question.evidence][:most]


class ReaderPanel:
    """All readers of one conversation: each memory, plain turns, and the turns that hold the answer."""

    def __init__(
        self, sample: LocomoSample, memories: dict[str, ReaderMemoryProtocol], answered: Collection[LineKey]
    ) -> None:
        """Read the turns of the first memory: all of them hold the same."""
        self._sample, self._memories, self._answered = sample, memories, answered
        first = next(iter(memories.values()))
        self.model = first.model.name
        self.readers = (*memories, TURNS, GOLD)
        self._turns = TurnReader(first.store, first.model, Scope(user_id=sample.sample_id))

    def ask_all(self, questions: Sequence[LocomoQuestion], progress: Progress | None) -> Iterator[ReadingLine]:
        """Ask what was not answered before, question by question."""
        for number, question in enumerate(questions):
            for reader in self.readers:
                if self.key(reader, question) not in self._answered:
                    if progress:
                        progress(f"asking {reader}", number, len(questions))
                    yield self._ask(reader, question)

    def key(self, reader: str, question: LocomoQuestion) -> LineKey:
        """Return the key of the line of a reader and a question."""
        return self.model, reader, self._sample.sample_id, question.index

    def _ask(self, reader: str, question: LocomoQuestion) -> ReadingLine:
        line = ReadingLine(
            model=self.model,
            reader=reader,
            sample=self._sample.sample_id,
            index=question.index,
            category=question.category,
            question=question.question,
            gold=question.gold,
        )
        if reader in self._memories:
            recollection = self._memories[reader].recall(question.question, user_id=self._sample.sample_id)
            update = {
                "answer": plain_answer(recollection.answer),
                "read": TokenUsage.of(recollection.usage),
                "went_deep": recollection.went_deep,
                "verdict": recollection.verdict,
            }
            return line.model_copy(update=update)
        passages = (
            self._turns.search(question.question, TURN_TOKENS)
            if reader == TURNS
            else self._turns.select(question.evidence)
        )
        answer, usage = self._turns.answer(question.question, passages)
        return line.model_copy(update={"answer": plain_answer(answer), "read": usage})


class TurnReader:
    """The plain turns of one scope, and the model that answers from them."""

    def __init__(self, store: Store, model: Model, scope: Scope) -> None:
        """Read the scope as it stands."""
        self._encoder, self._model = store.encoder, model
        self._index = store.index(scope).turns

    def search(self, query: str, budget: int) -> list[Evidence]:
        """Return the turns that BM25 and cosine find together, each scaled to [0, 1], best first within a budget."""
        index = self._index
        lexical = min_max(index.bm25(content_stems(query)).astype(np.float64))
        scores = lexical + min_max(index.cosine(self._encoder.encode([query])).astype(np.float64))
        best = top_positions(scores, len(index))
        passages = (turn_passage([index.items[position]], float(scores[position]), {}) for position in best)
        return fit_budget(passages, budget)

    def select(self, external_ids: Collection[str]) -> list[Evidence]:
        """Return the turns of those ids in their file."""
        return [turn_passage([turn], 1.0, {}) for turn in self._index.items if turn.external_id in external_ids]

    def answer(self, query: str, passages: Sequence[Evidence]) -> tuple[str, TokenUsage]:
        """Ask the model, and return its answer and what it cost.

        Raises:
            ModelUnavailable: It gave no answer.
        """
        result = self._model.ask(WriteAnswer(query, Intent(query=query, anchor=query), tuple(passages)))
        if result.failure:
            raise ModelUnavailable(f"{self._model.name} gave no answer: {result.failure.reason}")
        return result.answer or "", TokenUsage.of(result.usage)


def _select_sample(samples: Sequence[LocomoSample], sample_id: str | None) -> LocomoSample:
    """Return the conversation of an id, or the first.

    Raises:
        InvalidInput: There is none.
    """
    for sample in samples:
        if sample_id in (None, sample.sample_id):
            return sample
    ids = ", ".join(sample.sample_id for sample in samples)
    raise InvalidInput(f"no conversation {sample_id!r}: the file has {ids or 'none'}")


def _written(
    open_memory: PresetMemoryOpener, folder: str, preset: str, sample: LocomoSample, progress: Progress | None
) -> AbstractContextManager[ReaderMemoryProtocol]:
    """Write a conversation by rules, and open its memory for reading."""
    Path(folder).mkdir(parents=True)
    with open_memory(folder, preset, WRITER) as memory:
        memory.remember_sessions(sample.sessions, user_id=sample.sample_id, progress=progress)
    return open_memory(folder, preset, None)
