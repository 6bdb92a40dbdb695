"""Measure what a model makes of a memory when it answers (`engram bench reading`).

A conversation is written once for each preset; then the model is asked the same questions from each memory, from plain
turns within a budget, and from the turns that hold the answer; where HyMem's preset comes first, also from its key
sentences of the units that do. These are read in one call, while a memory may ask first whether what it found suffices,
and look further. Readers take turns question by question, so that a run that is cut short compares them on the same
questions. Conversations come one after the other, and a run with more of them goes on in its folder.
"""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from engram_lab.answer_scores import bleu1_amem, f1_amem, f1_locomo
from engram_lab.datasets import CATEGORIES, READERS, SINGLE_HOP, Conversation, LocomoQuestion
from engram_lab.harness import (
    MEDIAN,
    AnswerFigures,
    Figures,
    Progress,
    Setup,
    ShownFigures,
    StrPath,
    bootstrap_interval,
    cost_by_node,
    mean,
    measure_answer,
    percentile,
    plain_answer,
    recall_times,
    shown_means,
)
from engram_lab.resume import KeyedLine, LineKey, RunFolder, fingerprint, open_run
from langgraph_engram.errors import InvalidInput, ModelUnavailable
from langgraph_engram.memory import Memory
from langgraph_engram.paper_settings import HyMemSettings
from langgraph_engram.papers import read_parts
from langgraph_engram.papers.compression import Compressor
from langgraph_engram.prompts.write_answer import WriteAnswer
from langgraph_engram.results import total
from langgraph_engram.retrieval.passages import Candidate, as_passage, turn_passage
from langgraph_engram.retrieval.pool import fit_budget
from langgraph_engram.retrieval.scoring import min_max, top_positions
from langgraph_engram.schema import Evidence, Intent, Scope
from langgraph_engram.text.words import content_stems

QUESTIONS = 60
TURN_TOKENS = 1000
"""Tokens of plain turns that the model is shown."""

TURNS, GOLD, FULL = "turns", "gold", "full"
"""Readers who are shown plain turns, those that hold the answer, and every turn (HyMem Figure 5)."""
LEVEL1 = "level1"
"""The reader who is shown HyMem's key sentences of the units that hold the answer (Figure 6)."""

Sample = Conversation[Any]
"""Of LoCoMo, or a haystack of LongMemEval."""
Reader = Callable[[Any], AnswerFigures]
"""Answers one of its questions."""
ASKED = {"index", "category", "question_type", "unanswerable", "question", "gold"}
"""What a line holds of a question."""


class ReadingLine(AnswerFigures, KeyedLine):
    """One question, put to one reader."""

    KEY: ClassVar = ("reader", "sample", "index")
    model: str
    reader: str
    """A preset's name, or `turns`, `gold`, `full`, `level1`, or `gold@.5` for .5 of the tokens."""
    sample: str
    index: int = 0
    category: int | None = None
    """Of LoCoMo's questions."""
    question_type: str = ""
    """Of LongMemEval's."""
    unanswerable: bool = False
    question: str
    gold: str

    @property
    def score(self) -> float:
        """Return the F1 as LoCoMo counts it."""
        return f1_locomo(self.answer, self.gold, self.category or SINGLE_HOP)

    @property
    def group(self) -> str:
        """Return under what it is reported."""
        return str(self.category or self.question_type)


def run_reading(
    path: StrPath,
    setups: Sequence[Setup],
    *,
    data: str = "locomo",
    sample_id: str | None = None,
    conversations: int = 1,
    most: int = QUESTIONS,
    out: StrPath | None = None,
    full: bool = False,
    compressors: Sequence[Compressor] = (),
    concurrency: int = 1,
    progress: Progress = None,
) -> Figures:
    """Measure a model on one conversation of a file, or on the first ones; `most` is of each one's questions.

    Compressors shorten the turns that hold the answer, each for a further reader (HyMem Figure 6).
    """
    samples = _select_samples(READERS[data](path), sample_id, conversations)
    asked = {number: draw_questions(sample.questions, most) for number, sample in samples.items()}
    if not setups or not any(asked.values()):
        raise InvalidInput("nothing to ask: it takes a preset, and a conversation with questions of categories 1 to 4")
    by_preset = {setup.preset: setup for setup in setups}
    described = {preset: setup.described() for preset, setup in by_preset.items()}
    measured = {"command": "reading", "turn_tokens": TURN_TOKENS, "data": fingerprint(path)}
    weights = {"weights": compressors[0].settings.compression_model} if compressors else {}
    with open_run(out, {**measured, **weights, "setups": described}, ReadingLine) as run:
        reading = _Reading(run, by_preset, full, compressors, concurrency, progress)
        keys = [key for number, sample in samples.items() for key in reading.ask(number, sample, asked[number])]
        lines = run.finish(keys)
    conversed = {"conversations": len(samples), "sample": next(iter(samples.values())).name}
    return {"model": lines[0].model, **conversed, "resumed": run.resumed, "readers": compare(lines)}


@dataclass(frozen=True)
class _Reading:
    """A run that asks each reader of one conversation after the other."""

    run: RunFolder[ReadingLine]
    setups: Mapping[str, Setup]
    full: bool
    compressors: Sequence[Compressor]
    concurrency: int
    progress: Progress

    def ask(self, number: int, sample: Sample, questions: Sequence[Any]) -> list[LineKey]:
        """Write a conversation, ask its questions, and return the keys of their lines."""
        with ExitStack() as stack:
            memories: dict[str, Memory] = {}
            for preset, setup in self.setups.items():
                name = f"{preset}-{number}"
                self.run.write_memory(name, setup.open_writer, sample.sessions, sample.name, self.progress)
                memories[preset] = stack.enter_context(setup.open_reader(str(self.run.memory(name))))
            model = next(iter(memories.values())).model.name
            readers = open_readers(sample, memories, self.full, self.compressors)

            def ask(task: tuple[str, Any]) -> ReadingLine:
                reader, question = task
                named = {"model": model, "reader": reader, "sample": sample.name}
                return ReadingLine(**named, **question.model_dump(include=ASKED), **dict(readers[reader](question)))

            tasks: dict[LineKey, tuple[str, Any]] = {
                (reader, sample.name, getattr(question, "index", 0)): (reader, question)
                for question in questions
                for reader in readers
            }
            self.run.ask_all(tasks, ask, self.concurrency, self.progress, f"asking {sample.name}")
        return [*tasks]


def draw_questions(questions: Sequence[Any], most: int) -> Sequence[Any]:
    """Draw questions at random, category after category in turn, so that any first part of them is as even.

    Those of which the file names no turn as evidence are left out: no reader could be shown it. The one question of a
    haystack is asked in any case.
    """
    if not all(isinstance(question, LocomoQuestion) for question in questions):
        return questions
    generator = random.Random(0)  # the same questions each time
    by_category = [[question for question in questions if question.category == category] for category in CATEGORIES]
    for group in by_category:
        generator.shuffle(group)
    longest = max(map(len, by_category))
    in_turn = [group[index] for index in range(longest) for group in by_category if index < len(group)]
    return [question for question in in_turn if question.evidence][:most]


def open_readers(
    sample: Sample, memories: Mapping[str, Memory], full: bool, compressors: Sequence[Compressor]
) -> dict[str, Reader]:
    """Return all readers of a conversation by name."""
    scope = Scope(user_id=sample.name)
    turns = TurnReader(next(iter(memories.values())), scope)

    def asking(memory: Memory) -> Reader:
        return lambda question: measure_answer(memory, sample.name, question.question, sample.asked_at)[0]

    def shown(passages_of: Callable[[Any], list[Evidence]]) -> Reader:
        return lambda question: turns.answer(question.question, passages_of(question), sample.asked_at)

    def shortened(compressor: Compressor) -> Reader:
        return shown(lambda question: turns.select(question.evidence, compressor))

    return {
        **{name: asking(memory) for name, memory in memories.items()},
        TURNS: shown(lambda question: turns.search(question.question, TURN_TOKENS)),
        GOLD: shown(lambda question: turns.select(question.evidence)),
        **{f"{GOLD}@{compressor.settings.compression:g}": shortened(compressor) for compressor in compressors},
        **({FULL: shown(lambda _: turns.select())} if full else {}),
        **({LEVEL1: shown(lambda question: turns.key_sentences(question.evidence))} if turns.has_level1 else {}),
    }


class TurnReader:
    """The plain turns of one scope, and the model that answers from them in the wording of the memory's preset."""

    def __init__(self, memory: Memory, scope: Scope) -> None:
        self._encoder, self._model = memory.store.encoder, memory.model
        self._form = read_parts(self._encoder, memory.settings).form
        self.has_level1 = isinstance(memory.settings.paper, HyMemSettings)
        self._scope = memory.store.index(scope)
        self._index = self._scope.turns

    def search(self, query: str, budget: int) -> list[Evidence]:
        """Return the turns that BM25 and cosine find together, each scaled to [0, 1], best first within a budget."""
        index = self._index
        lexical = min_max(index.bm25(content_stems(query)).astype(np.float64))
        scores = lexical + min_max(index.cosine(self._encoder.encode([query])).astype(np.float64))
        best = top_positions(scores, len(index))
        passages = (turn_passage([index.items[position]], float(scores[position]), {}) for position in best)
        return fit_budget(passages, budget)

    def select(self, ids: Collection[str] | None = None, compressor: Compressor | None = None) -> list[Evidence]:
        """Return the turns of those ids in their file, or every turn."""
        turns = [turn for turn in self._index.items if ids is None or turn.external_id in ids]
        short = compressor(turns) if compressor and turns else {}
        return [turn_passage([short.get(turn.turn_id, turn)], 1.0, {}) for turn in turns]

    def key_sentences(self, external_ids: Collection[str]) -> list[Evidence]:
        """Return the records of the events that hold turns of those ids."""
        scope = self._scope
        holding = {turn.turn_id for turn in self._index.items if turn.external_id in external_ids}
        events = {event.event_id for event in scope.events.items if holding.intersection(event.turn_ids)}
        found = [at for at, record in enumerate(scope.records.items) if record.event_id in events]
        return [as_passage(scope, Candidate("record", position, 1.0)) for position in found]

    def answer(self, query: str, passages: Sequence[Evidence], now: datetime | None) -> AnswerFigures:
        """Ask the model, and return its answer and what that took."""
        started = perf_counter()
        intent = Intent(query=query, anchor=query)
        result = self._model.ask(WriteAnswer(query, intent, tuple(passages), now, self._form))
        if result.failure:
            raise ModelUnavailable(f"{self._model.name} gave no answer: {result.failure.reason}")
        return AnswerFigures(
            answer=plain_answer(result.answer),
            shown=ShownFigures.of(passages),
            read=total([result.usage.model_copy(update={"node": "write_answer"})]),
            recall_seconds=perf_counter() - started,
        )


def _select_samples(samples: Sequence[Sample], sample_id: str | None, most: int) -> dict[int, Sample]:
    """Return the first conversations of a file, or the one that is named, by their places in it."""
    placed = {number: sample for number, sample in enumerate(samples) if sample_id in (None, sample.name)}
    if not placed:
        raise InvalidInput(
            f"no conversation {sample_id!r}: the file has {', '.join(sample.name for sample in samples)}"
        )
    return dict(list(placed.items())[:most])


def compare(lines: Sequence[ReadingLine]) -> dict[str, Figures]:
    """Return the figures of each reader by its name; rates in [0, 1], medians of a question.

    `over_turns` and `over_gold` are by how much its `f1_locomo` is above that of plain turns and of the turns that hold
    the answer.
    """
    names = dict.fromkeys(line.reader for line in lines)
    readers = {name: [line for line in lines if line.reader == name] for name in names}
    scores = {reader: {line.key[1:]: line.score for line in own} for reader, own in readers.items()}
    turns, gold = scores.get(TURNS, {}), scores.get(GOLD, {})
    return {
        reader: {
            **_figures(own),
            "over_turns": _difference(scores[reader], turns) if reader != TURNS else None,
            "over_gold": _difference(scores[reader], gold) if reader != GOLD else None,
        }
        for reader, own in readers.items()
    }


def _figures(lines: Sequence[ReadingLine]) -> Figures:
    by_group = {name: [line for line in lines if line.group == name] for name in sorted({line.group for line in lines})}
    calls = [line.read.calls for line in lines]
    return {
        "questions": len(lines),
        "f1_locomo": mean(line.score for line in lines),
        "f1_amem": mean(f1_amem(line.answer, line.gold) for line in lines),
        "bleu1_amem": mean(bleu1_amem(line.answer, line.gold) for line in lines),
        "f1_by_category": {name: mean(line.score for line in found) for name, found in by_group.items()},
        "calls_mean": mean(calls),
        "calls_p50": percentile(calls, MEDIAN),
        "prompt_tokens_p50": percentile([line.read.prompt_tokens for line in lines], MEDIAN),
        "completion_tokens_p50": percentile([line.read.completion_tokens for line in lines], MEDIAN),
        "usage": cost_by_node([line.read for line in lines]),
        "seconds": recall_times(lines),
        "shown": shown_means(lines),
        "deep_ratio": mean(line.went_deep for line in lines),
    }


def _difference(own: Mapping[LineKey, float], baseline: Mapping[LineKey, float]) -> dict[str, float] | None:
    """Return by how much a reader is better on the questions that both were asked, and the 95 % interval of that."""
    differences = [own[index] - baseline[index] for index in sorted(own.keys() & baseline.keys())]
    if not differences:
        return None
    low, high = bootstrap_interval(differences)
    return {"mean": fmean(differences), "low": low, "high": high, "pairs": len(differences)}
