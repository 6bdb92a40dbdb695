"""Run LoCoMo (Maharana et al., ACL 2024) on a memory: write each conversation, ask its questions, compute the figures.

Each sample has a memory of its own, and is its user. Evidence comes from `search`, answers from `recall`.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from langgraph_engram.benchmarks.answer_scores import bleu1_amem, f1_amem, f1_locomo, scored_gold, temporal_interval
from langgraph_engram.benchmarks.evidence_scores import (
    BUDGETS,
    SHOWN,
    Passage,
    all_evidence_recall,
    answer_token_recall,
    evidence_precision,
    evidence_recall,
    quote_recall,
)
from langgraph_engram.benchmarks.harness import (
    MEDIAN,
    NEARLY_ALL,
    Measured_co,
    MemoryProtocol,
    Progress,
    RecallFigures,
    RunUsage,
    Setup,
    WriteFigures,
    add_usage,
    mean,
    mean_at_budgets,
    measure_recall,
    percentile,
    recall_times,
    shown_means,
    split_by_answer,
    write_counts,
)
from langgraph_engram.benchmarks.locomo_data import CATEGORIES, TEMPORAL, LocomoQuestion, LocomoSample, read_samples
from langgraph_engram.benchmarks.resume import KeyedLine, LineKey, RunFolder, check_unique, fingerprint, open_run
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import Receipt, count_tokens
from langgraph_engram.schema import Frozen


class LocomoLine(RecallFigures, KeyedLine):
    """One question, what was found for it at each budget, and what was answered."""

    sample: str
    index: int
    category: int
    question: str
    gold: str
    evidence: dict[str, list[str]]
    """The turns that support the answer, by id: what each states."""

    @property
    def key(self) -> LineKey:
        """Return the sample and the question's index in it."""
        return self.sample, self.index


class LocomoScores(Frozen):
    """How well some questions were served; every rate is in [0, 1]."""

    questions: int
    evidence_recall: dict[str, float | None]
    all_evidence_recall: dict[str, float | None]
    answer_token_recall: dict[str, float | None]
    evidence_precision: dict[str, float | None]
    """Share of the passages that hold evidence."""
    shown_tokens: float | None
    """Median of the tokens that a search shows without a budget of its own."""
    quote_1: float | None
    """Share of questions whose first quote is from an evidence turn; absent where a language model answered."""
    quote_3: float | None
    """The same of the first three."""
    f1_locomo: float | None
    f1_amem: float | None
    bleu1_amem: float | None
    temporal_interval: float | None


class LocomoFigures(LocomoScores):
    """All figures of a run's lines."""

    by_category: dict[str, LocomoScores]
    deep_ratio: float | None
    """Share of answers that went past the light retrieval."""
    read: RunUsage
    read_p50: float | None
    read_p95: float | None
    """Seconds of a search."""


def run_locomo(
    path: str | PathLike[str],
    setup: Setup[Measured_co],
    *,
    limit: int | None = None,
    out: str | PathLike[str] | None = None,
    concurrency: int = 1,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure a memory on a LoCoMo file.

    Args:
        path: The file; it is read, never copied.
        setup: What is measured.
        limit: The first questions of categories 1 to 4 up to this number; only the samples they need are written.
        out: A folder for the memories and for `questions.jsonl`, one line a question, from which every figure can be
            recomputed. A run that was cut short goes on there; with a higher limit, one that was not.
        concurrency: How many questions are asked at once. Seconds are those of questions that share the machine.
        progress: Called with each step.

    Returns:
        The figures as plain JSON: rates in [0, 1], times in seconds, None for what does not apply.

    Raises:
        InvalidInput: `limit` leaves no question, or the folder holds a run of other settings.
        UnreadableFile: The file is missing or is not LoCoMo's.
    """
    samples = read_samples(path, limit)
    if not any(sample.questions for sample in samples):
        raise InvalidInput(
            f"no question to ask: the file needs some of categories 1 to 4, and limit {limit!r} at least 1"
        )
    keys = [(sample.sample_id, question.index) for sample in samples for question in sample.questions]
    check_unique(keys, path)
    made_with = {"command": "locomo", "data": fingerprint(path), "budgets": BUDGETS, **setup.described()}
    with open_run(out, made_with, LocomoLine) as run:
        written = [
            _run_sample(run, setup, sample, f"{number}", concurrency, progress) for number, sample in enumerate(samples)
        ]
        lines = run.finish(keys)
    return {**setup.names(), "resumed": run.resumed, **_report(lines, written)}


def write_samples(
    memory: MemoryProtocol, samples: Sequence[LocomoSample], progress: Progress | None = None
) -> list[Receipt]:
    """Write each sample as the memory of a user of its name, and return their receipts."""
    return [
        memory.remember_sessions(sample.sessions, user_id=sample.sample_id, progress=progress) for sample in samples
    ]


def recompute(path: str | PathLike[str]) -> LocomoFigures:
    """Compute every figure from a `questions.jsonl`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return compute(LocomoLine.model_validate_json(line) for line in lines)


def compute(questions: Iterable[LocomoLine]) -> LocomoFigures:
    """Compute every figure from a run's lines."""
    lines = list(questions)
    seconds = [line.read_seconds for line in lines]
    by_category = {
        str(category): _score([line for line in lines if line.category == category]) for category in CATEGORIES
    }
    return LocomoFigures(
        **dict(_score(lines)),
        by_category=by_category,
        deep_ratio=mean(line.went_deep for line in lines),
        read=add_usage(line.read for line in lines),
        read_p50=percentile(seconds, MEDIAN),
        read_p95=percentile(seconds, NEARLY_ALL),
    )


def _score(lines: Sequence[LocomoLine]) -> LocomoScores:
    """Score some questions together: answers of a language model by their words, quotes by the turns they are from."""
    quoted, answered = split_by_answer(lines)
    return LocomoScores(
        questions=len(lines),
        evidence_recall=mean_at_budgets(lines, lambda passages, line: evidence_recall(passages, line.evidence)),
        all_evidence_recall=mean_at_budgets(lines, lambda passages, line: all_evidence_recall(passages, line.evidence)),
        answer_token_recall=mean_at_budgets(
            lines, lambda passages, line: answer_token_recall(passages, scored_gold(line.gold, line.category))
        ),
        evidence_precision=mean_at_budgets(lines, lambda passages, line: evidence_precision(passages, line.evidence)),
        shown_tokens=percentile([_tokens(line.passages[SHOWN]) for line in lines if SHOWN in line.passages], MEDIAN),
        quote_1=mean(quote_recall(line.quotes, line.evidence, 1) for line in quoted),
        quote_3=mean(quote_recall(line.quotes, line.evidence, 3) for line in quoted),
        f1_locomo=mean(f1_locomo(line.answer, line.gold, line.category) for line in answered),
        f1_amem=mean(f1_amem(line.answer, line.gold) for line in answered),
        bleu1_amem=mean(bleu1_amem(line.answer, line.gold) for line in answered),
        temporal_interval=mean(
            temporal_interval(line.answer, line.gold) for line in answered if line.category == TEMPORAL
        ),
    )


def _tokens(passages: Sequence[Passage]) -> int:
    return sum(count_tokens(passage.text) for passage in passages)


def _run_sample(
    run: RunFolder[LocomoLine],
    setup: Setup[Measured_co],
    sample: LocomoSample,
    name: str,
    concurrency: int,
    progress: Progress | None,
) -> WriteFigures:
    """Write a sample and ask its questions, after a search that is not timed: the first one loads the index."""
    figures = run.write_memory(name, setup.open_writer, sample.sessions, sample.sample_id, progress)
    tasks: dict[LineKey, LocomoQuestion] = {
        (sample.sample_id, question.index): question for question in sample.questions
    }
    if unanswered := run.unanswered(tasks):
        with setup.open_reader(str(run.memory(name))) as memory:
            memory.search(next(iter(unanswered.values())).question, user_id=sample.sample_id)
            run.ask_all(
                tasks,
                lambda question: _ask(memory, sample.sample_id, question),
                concurrency,
                progress,
                f"asking {sample.sample_id}",
            )
    return figures


def _ask(memory: MemoryProtocol, sample_id: str, question: LocomoQuestion) -> LocomoLine:
    return LocomoLine(
        sample=sample_id,
        index=question.index,
        category=question.category,
        question=question.question,
        gold=question.gold,
        evidence=question.evidence,
        **dict(measure_recall(memory, sample_id, question.question)),
    )


def _report(lines: Sequence[LocomoLine], written: Sequence[WriteFigures]) -> dict[str, object]:
    """Return a run's figures under the names of the command line's JSON."""
    figures = compute(lines)
    return {
        **figures.model_dump(exclude={"read", "read_p50", "read_p95"}),
        "usage": {"write": add_usage(write.usage for write in written).model_dump(), "read": figures.read.model_dump()},
        "seconds": {
            "write": sum(write.seconds for write in written),
            "read_p50": figures.read_p50,
            "read_p95": figures.read_p95,
            **recall_times(lines),
        },
        "shown": shown_means(lines),
        "written": write_counts(written),
    }
