"""Measure what a model makes of a memory when it answers (`engram bench reading`).

Rules write a conversation once for each preset; then the model is asked the same questions from each memory, from plain
turns within a budget, and from the turns that hold the answer. These are read in one call, while a memory may ask first
whether what it found suffices, and look further. Readers take turns question by question, so that a run that is cut
short compares them on the same questions. This module does not know how a line is scored.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np

from langgraph_engram.benchmarks.questions import (
    LocomoQuestion,
    LocomoSample,
    MemoryProtocol,
    Progress,
    Spent,
    continued,
    kept,
    plain_answer,
    read_samples,
    spent,
)
from langgraph_engram.benchmarks.reading_figures import GOLD, TURNS, Place, ReadingLine, compare
from langgraph_engram.benchmarks.scores import CATEGORIES
from langgraph_engram.errors import InvalidInput, ModelUnavailable
from langgraph_engram.llm.base import Model
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.retrieval.passages import fit_budget, turn_passage
from langgraph_engram.retrieval.scoring import min_max, top_positions
from langgraph_engram.schema import Evidence, Intent, Scope
from langgraph_engram.stores.base import Store
from langgraph_engram.text.tokens import content_stems


class ShownTurns:
    """The turns of one scope, and who answers from them."""

    def __init__(self, store: Store, model: Model, scope: Scope) -> None:
        """Read the scope as it stands."""
        self._encoder, self._model = store.encoder, model
        self._index = store.index(scope)

    def found(self, query: str, budget: int) -> list[Evidence]:
        """Give the turns that BM25 and cosine find together, each stretched to [0, 1], best first within a budget."""
        shelf = self._index.turns
        lexical = min_max(shelf.bm25(content_stems(query)).astype(np.float64))
        scores = lexical + min_max(shelf.cosine(self._encoder.encode([query])).astype(np.float64))
        best = top_positions(scores, len(shelf))
        return fit_budget((turn_passage([shelf.items[place]], float(scores[place]), {}) for place in best), budget)

    def named(self, external_ids: Collection[str]) -> list[Evidence]:
        """Give the turns of those ids in their file."""
        return [turn_passage([turn], 1.0, {}) for turn in self._index.turns.items if turn.external_id in external_ids]

    def answer(self, query: str, pieces: Sequence[Evidence]) -> tuple[str, Spent]:
        """Ask the model, and give its answer and what it cost.

        Raises:
            ModelUnavailable: It gave no answer.
        """
        intent = Intent(query=query, anchor=query)
        asked = self._model.ask(WriteAnswer(query, intent, tuple(pieces)))
        if asked.failure:
            raise ModelUnavailable(f"{self._model.name} gave no answer: {asked.failure.reason}")
        usage = asked.usage
        return asked.answer or "", Spent(
            calls=usage.calls, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
        )


QUESTIONS = 60
TURN_TOKENS = 1000
"""Tokens of plain turns that the model is shown."""
WRITER = "rules"


class ReaderMemoryProtocol(MemoryProtocol, Protocol):
    """A memory, and what stands behind it."""

    store: Store
    model: Model


OpenPreset = Callable[[str, str, str | None], AbstractContextManager[ReaderMemoryProtocol]]
"""Opens a memory in a folder, under a preset, with a model; None for the one that is measured."""


def run_reading(
    path: str | PathLike[str],
    open_memory: OpenPreset,
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
        out: A folder for `questions.jsonl`, one line a question and reader. What stands there is not asked again.
        progress: Told what is being done.

    Returns:
        The figures as plain JSON, by reader.

    Raises:
        InvalidInput: The file has no such conversation, or it has no question.
        ModelUnavailable: The model gave no answer; the lines so far are kept.
        UnreadableFile: The file is missing or is not LoCoMo's.
    """
    sample = chosen(read_samples(path), sample_id)
    questions = drawn(sample.questions, most)
    if not presets or not questions:
        raise InvalidInput("nothing to ask: it takes a preset, and a conversation with questions of categories 1 to 4")
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="engram-bench-"))
        before, file = stack.enter_context(continued(out, ReadingLine)) if out is not None else ([], None)
        memories = {
            preset: stack.enter_context(_written(open_memory, f"{folder}/{preset}", preset, sample, progress))
            for preset in dict.fromkeys(presets)
        }
        asker = Asker(sample, memories, {line.place for line in before})
        lines = [*before, *kept(asker.ask_all(questions, progress), file)]
    wanted = {asker.place(reader, question) for question in questions for reader in asker.readers}
    ours = [line for line in lines if line.place in wanted]
    return {"model": asker.model, "sample": sample.sample_id, **compare(ours).model_dump()}


class Asker:
    """Put questions to every reader."""

    def __init__(
        self, sample: LocomoSample, memories: dict[str, ReaderMemoryProtocol], done: Collection[Place]
    ) -> None:
        """Read the turns of the first memory: all of them hold the same."""
        self._sample, self._memories, self._done = sample, memories, done
        first = next(iter(memories.values()))
        self.model = first.model.name
        self.readers = (*memories, TURNS, GOLD)
        self._turns = ShownTurns(first.store, first.model, Scope(user_id=sample.sample_id))

    def ask_all(self, questions: Sequence[LocomoQuestion], progress: Progress | None) -> Iterator[ReadingLine]:
        """Ask what was not asked before, question by question."""
        for number, question in enumerate(questions):
            for reader in self.readers:
                if self.place(reader, question) not in self._done:
                    if progress:
                        progress(f"asking {reader}", number, len(questions))
                    yield self._ask(reader, question)

    def place(self, reader: str, question: LocomoQuestion) -> Place:
        """Give what tells the line of a reader and a question from any other."""
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
            told = self._memories[reader].recall(question.question, user_id=self._sample.sample_id)
            update = {
                "answer": plain_answer(told.answer),
                "read": spent(told.usage),
                "went_deep": told.went_deep,
                "verdict": told.verdict,
            }
            return line.model_copy(update=update)
        pieces = (
            self._turns.found(question.question, TURN_TOKENS)
            if reader == TURNS
            else self._turns.named(question.evidence)
        )
        answer, usage = self._turns.answer(question.question, pieces)
        return line.model_copy(update={"answer": plain_answer(answer), "read": usage})


def chosen(samples: Sequence[LocomoSample], sample_id: str | None) -> LocomoSample:
    """Give the conversation of a name, or the first.

    Raises:
        InvalidInput: There is none.
    """
    found = next((one for one in samples if sample_id in (None, one.sample_id)), None)
    if found is None:
        names = ", ".join(one.sample_id for one in samples)
        raise InvalidInput(f"no conversation {sample_id!r}: the file has {names or 'none'}")
    return found


def drawn(questions: Sequence[LocomoQuestion], most: int) -> list[LocomoQuestion]:
    """Draw questions by lot, category after category in turn, so that any first part of them is as even.

    Those of which the file names no turn as evidence are left out: no reader could be shown it.
    """
    lot = random.Random(0)  # the same questions each time
    by_category = [[one for one in questions if one.category == category] for category in CATEGORIES]
    for group in by_category:
        lot.shuffle(group)
    longest = max(map(len, by_category))
    in_turn = [group[place] for place in range(longest) for group in by_category if place < len(group)]
    return [question for question in in_turn if question.evidence][:most]


def _written(
    open_memory: OpenPreset, folder: str, preset: str, sample: LocomoSample, progress: Progress | None
) -> AbstractContextManager[ReaderMemoryProtocol]:
    Path(folder).mkdir(parents=True)
    with open_memory(folder, preset, WRITER) as memory:
        memory.remember_sessions(sample.sessions, user_id=sample.sample_id, progress=progress)
    return open_memory(folder, preset, None)
