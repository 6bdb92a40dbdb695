"""Measure what a model makes of a memory when it answers (`engram bench reading`).

A conversation is written once for each preset; then the model is asked the same questions from each memory, from plain
turns within a budget, and from the turns that hold the answer. These are read in one call, while a memory may ask first
whether what it found suffices, and look further. Readers take turns question by question, so that a run that is cut
short compares them on the same questions.
"""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from time import perf_counter
from typing import Protocol

import numpy as np

from langgraph_engram.benchmarks.harness import (
    AnswerFigures,
    Progress,
    RunUsage,
    Setup,
    ShownFigures,
    StoredMemoryProtocol,
    measure_answer,
    plain_answer,
)
from langgraph_engram.benchmarks.locomo_data import CATEGORIES, LocomoQuestion, LocomoSample, read_samples
from langgraph_engram.benchmarks.reading_figures import COMPRESSED, FULL, GOLD, TURNS, ReadingLine, compare
from langgraph_engram.benchmarks.resume import LineKey, fingerprint, open_run
from langgraph_engram.compression import Compressor, LLMLingua2
from langgraph_engram.errors import InvalidInput, ModelUnavailable
from langgraph_engram.llm.base import Model
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.results import total
from langgraph_engram.retrieval.passages import fit_budget, turn_passage
from langgraph_engram.retrieval.scoring import min_max, top_positions
from langgraph_engram.schema import Evidence, Intent, Scope
from langgraph_engram.settings import AnswerSettings
from langgraph_engram.stores.base import Store
from langgraph_engram.text.tokens import content_stems

QUESTIONS = 60
TURN_TOKENS = 1000
"""Tokens of plain turns that the model is shown."""
ANSWERING = "write_answer"
"""The step under whose name the cost of an answer from plain turns is counted."""


class ReaderMemoryProtocol(StoredMemoryProtocol, Protocol):
    """A memory with its store and its model."""

    model: Model


def run_reading(
    path: str | PathLike[str],
    setups: Sequence[Setup[ReaderMemoryProtocol]],
    *,
    sample_id: str | None = None,
    most: int = QUESTIONS,
    out: str | PathLike[str] | None = None,
    full: bool = False,
    compress_rate: float | None = None,
    open_compressor: Callable[[float], Compressor] = LLMLingua2,
    concurrency: int = 1,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure a model on one conversation of a LoCoMo file.

    Args:
        path: The file; it is read, never copied.
        setups: What is read from, each of another preset and all of one reader.
        sample_id: The conversation; None for the file's first.
        most: Questions, drawn evenly from the categories; the same for the same number.
        out: A folder for the memories and for `questions.jsonl`, one line a question and reader. A run that was cut
            short goes on there; with more questions, one that was not.
        full: Whether a reader is shown every turn.
        compress_rate: The share of words that a reader is shown of the turns that hold the answer; None for no such
            reader.
        open_compressor: Opens what leaves out the others.
        concurrency: How many questions are asked at once.
        progress: Called with each step.

    Returns:
        The figures as plain JSON, by reader.

    Raises:
        InvalidInput: The file has no such conversation, or it has no question, or the folder holds a run of other
            settings.
        ModelUnavailable: The model gave no answer; the lines so far are kept.
        CompressorUnavailable: There is no compressor.
        UnreadableFile: The file is missing or is not LoCoMo's.
    """
    compressor = open_compressor(compress_rate) if compress_rate is not None else None
    compressors = {f"{COMPRESSED}-{compress_rate:g}": compressor} if compressor else {}
    sample = _select_sample(read_samples(path), sample_id)
    questions = draw_questions(sample.questions, most)
    if not setups or not questions:
        raise InvalidInput("nothing to ask: it takes a preset, and a conversation with questions of categories 1 to 4")
    by_preset = {setup.preset: setup for setup in setups}
    described = {preset: setup.described() for preset, setup in by_preset.items()}
    made_with = {
        "command": "reading",
        "data": fingerprint(path),
        "sample": sample.sample_id,
        "turn_tokens": TURN_TOKENS,
        "setups": described,
    }
    with open_run(out, made_with, ReadingLine) as run, ExitStack() as stack:
        for preset, setup in by_preset.items():
            run.write_memory(preset, setup.open_writer, sample.sessions, sample.sample_id, progress)
        memories = {
            preset: stack.enter_context(setup.open_reader(str(run.memory(preset))))
            for preset, setup in by_preset.items()
        }
        panel = ReaderPanel(sample, memories, full=full, compressors=compressors)
        tasks = panel.tasks(questions)
        run.ask_all(tasks, panel.ask, concurrency, progress)
        lines = run.finish(tasks)
    return {
        "model": panel.model,
        "sample": sample.sample_id,
        "resumed": run.resumed,
        **compare(lines).model_dump(),
    }


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
    """All readers of one conversation: each memory, plain turns, the turns that hold the answer, and other turns."""

    def __init__(
        self,
        sample: LocomoSample,
        memories: Mapping[str, ReaderMemoryProtocol],
        *,
        full: bool = False,
        compressors: Mapping[str, Compressor] | None = None,
    ) -> None:
        """Read the turns of the first memory: all of them hold the same.

        Args:
            sample: The conversation.
            memories: Its memories, by the names of their readers.
            full: Whether a reader is shown every turn.
            compressors: What shortens the turns that hold the answer, by the names of their readers.
        """
        self._sample, self._memories, self._compressors = sample, memories, compressors or {}
        first = next(iter(memories.values()))
        self.model = first.model.name
        self.readers = (*memories, TURNS, GOLD, *([FULL] if full else []), *self._compressors)
        self._turns = TurnReader(first.store, first.model, Scope(user_id=sample.sample_id))

    def tasks(self, questions: Sequence[LocomoQuestion]) -> dict[LineKey, tuple[str, LocomoQuestion]]:
        """Return every reader and question under the key of their line, question by question."""
        return {
            (reader, self._sample.sample_id, question.index): (reader, question)
            for question in questions
            for reader in self.readers
        }

    def ask(self, task: tuple[str, LocomoQuestion]) -> ReadingLine:
        """Put a question to a reader.

        Raises:
            ModelUnavailable: The model gave no answer.
        """
        reader, question = task
        if reader in self._memories:
            figures, _ = measure_answer(self._memories[reader], self._sample.sample_id, question.question)
        else:
            figures = self._turns.answer(question.question, self._passages(reader, question))
        return ReadingLine(
            model=self.model,
            reader=reader,
            sample=self._sample.sample_id,
            index=question.index,
            category=question.category,
            question=question.question,
            gold=question.gold,
            **dict(figures),
        )

    def _passages(self, reader: str, question: LocomoQuestion) -> list[Evidence]:
        if reader == TURNS:
            return self._turns.search(question.question, TURN_TOKENS)
        if reader == FULL:
            return self._turns.all()
        return self._turns.select(question.evidence, self._compressors.get(reader))


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

    def all(self) -> list[Evidence]:
        """Return every turn."""
        return [turn_passage([turn], 1.0, {}) for turn in self._index.items]

    def select(self, external_ids: Collection[str], compressor: Compressor | None = None) -> list[Evidence]:
        """Return the turns of those ids in their file, shortened where there is a compressor."""
        turns = [turn for turn in self._index.items if turn.external_id in external_ids]
        if compressor:
            texts = compressor.compress([turn.text for turn in turns])
            turns = [turn.model_copy(update={"text": text}) for turn, text in zip(turns, texts, strict=True)]
        return [turn_passage([turn], 1.0, {}) for turn in turns]

    def answer(self, query: str, passages: Sequence[Evidence]) -> AnswerFigures:
        """Ask the model, and return its answer and what that took.

        Raises:
            ModelUnavailable: It gave no answer.
        """
        started = perf_counter()
        intent, short = Intent(query=query, anchor=query), AnswerSettings(style="short")
        result = self._model.ask(WriteAnswer(query, intent, tuple(passages), settings=short))
        if result.failure:
            raise ModelUnavailable(f"{self._model.name} gave no answer: {result.failure.reason}")
        return AnswerFigures(
            answer=plain_answer(result.answer),
            shown=ShownFigures.of(passages),
            read=RunUsage.of_run(total([result.usage.model_copy(update={"node": ANSWERING})])),
            recall_seconds=perf_counter() - started,
        )


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
