"""Run BEAM (ICLR 2026) on a memory: write each chat with an assistant, ask its questions, compute the figures.

Each chat has a memory of its own, and is its user; a batch of messages is a session. Questions are of ten abilities,
and name the messages that their answers rest on. Answers are judged by rubrics (`engram bench judge --protocol beam`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path

from langgraph_engram.benchmarks.evidence_scores import evidence_recall, quote_recall, statements_of
from langgraph_engram.benchmarks.harness import (
    MEDIAN,
    NEARLY_ALL,
    Measured_co,
    Progress,
    RecallFigures,
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
from langgraph_engram.benchmarks.resume import KeyedLine, LineKey, RunFolder, check_unique, fingerprint, open_run
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.datasets import listed
from langgraph_engram.formats.files import parse_json, read_file
from langgraph_engram.formats.messages import ROLES, Session, read_text, shown
from langgraph_engram.schema import Frozen
from langgraph_engram.state import Message

BUDGETS = (500, 1000, 2000, 4000, 8000)
"""Tokens; evidence is measured at each."""
ANCHOR_FORMAT = "%B-%d-%Y"
MARK = re.compile(r"\s*->->\s*[\d,\s]+$")
"""What the generator of the chats left at the end of a message."""
GOLD_KEYS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


@dataclass(frozen=True)
class BeamQuestion:
    """One question, the messages that its answer rests on, and the points by which an answer is judged."""

    ability: str
    index: int
    """Its place among the questions of its ability."""
    question: str
    gold: str
    rubric: list[str]
    evidence: dict[str, list[str]]
    """What the messages state, by id."""


@dataclass(frozen=True)
class BeamChat:
    """One chat with its questions."""

    chat_id: str
    sessions: list[Session]
    questions: list[BeamQuestion]


class BeamLine(RecallFigures, KeyedLine):
    """One question, what was found for it at each budget, and what was answered."""

    sample: str
    """The id of the chat."""
    question_type: str
    """The ability that the question tests."""
    index: int
    question: str
    gold: str
    rubric: list[str]
    evidence: dict[str, list[str]]
    """What the messages that the answer rests on state, by id."""

    @property
    def key(self) -> LineKey:
        """Return the chat, the ability and the question's place in it."""
        return self.sample, self.question_type, self.index


class BeamScores(Frozen):
    """How well some questions were served; every rate is in [0, 1]."""

    questions: int
    source_recall: dict[str, float | None]
    """Share of the source messages that some passage holds; questions without any are left out."""
    quote_3: float | None
    """Share of questions with a source message among the first three quotes; absent for a language model's answers."""


class BeamFigures(BeamScores):
    """All figures of a run's lines."""

    by_category: dict[str, BeamScores]
    """By ability."""
    deep_ratio: float | None
    """Share of answers that went past the light retrieval."""


def run_beam(
    path: str | PathLike[str],
    setup: Setup[Measured_co],
    *,
    limit: int | None = None,
    out: str | PathLike[str] | None = None,
    concurrency: int = 1,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Measure a memory on a BEAM file.

    Args:
        path: A list of chats, each with `chat_id`, `chat` and `probing_questions`, gzipped or not.
        setup: What is measured.
        limit: The first chats up to this number.
        out: A folder for the memories and for `questions.jsonl`, one line a question, from which every figure can be
            recomputed. A run that was cut short goes on there.
        concurrency: How many questions are asked at once.
        progress: Called with each step.

    Returns:
        The figures as plain JSON: rates in [0, 1], times in seconds, None for what does not apply.

    Raises:
        InvalidInput: The folder holds a run of other settings.
        UnreadableFile: The file is missing or is not BEAM's.
    """
    chats = read_chats(path)[:limit]
    keys = [(chat.chat_id, question.ability, question.index) for chat in chats for question in chat.questions]
    if not keys:
        raise InvalidInput(f"no question to ask: {fspath(path)} has none, or limit {limit!r} is below 1")
    check_unique(keys, path)
    made_with = {"command": "beam", "data": fingerprint(path), "budgets": BUDGETS, **setup.described()}
    with open_run(out, made_with, BeamLine) as run:
        written = [_run_chat(run, setup, chat, f"{number}", concurrency, progress) for number, chat in enumerate(chats)]
        lines = run.finish(keys)
    messages = sum(len(session.messages) for chat in chats for session in chat.sessions)
    return {**setup.names(), "resumed": run.resumed, **_report(lines, written, messages)}


def recompute(path: str | PathLike[str]) -> BeamFigures:
    """Compute every figure from a `questions.jsonl`."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return compute([BeamLine.model_validate_json(line) for line in lines])


def compute(lines: Sequence[BeamLine]) -> BeamFigures:
    """Compute every figure from a run's lines."""
    abilities = sorted({line.question_type for line in lines})
    return BeamFigures(
        **dict(_score(lines)),
        by_category={name: _score([line for line in lines if line.question_type == name]) for name in abilities},
        deep_ratio=mean(line.went_deep for line in lines),
    )


def read_chats(path: str | PathLike[str]) -> list[BeamChat]:
    """Read a file's chats, in order.

    Raises:
        UnreadableFile: The file is missing or is not BEAM's.
        InvalidMessages: A message of it cannot be stored.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        return [_read_chat(item, number) for number, item in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error


def _read_chat(item: Mapping[str, object], number: int) -> BeamChat:
    batches, asked = item.get("chat"), item.get("probing_questions")
    if not isinstance(batches, list) or not isinstance(asked, Mapping):
        raise UnreadableFile(f"expected chat and probing_questions at item {number}, not {shown(item)}")
    sessions = [_read_batch(batch, f"batch-{place}") for place, batch in enumerate(batches, start=1)]
    stated = {
        str(message.external_id): statements_of(message.text) for session in sessions for message in session.messages
    }
    questions = [
        _read_question(question, str(ability), index, stated)
        for ability, of_ability in asked.items()
        for index, question in enumerate(of_ability if isinstance(of_ability, list) else [])
    ]
    return BeamChat(str(item.get("chat_id", number)), [session for session in sessions if session.messages], questions)


def _read_batch(batch: object, name: str) -> Session:
    turns = batch.get("turns") if isinstance(batch, Mapping) else None
    if not isinstance(turns, list) or not all(isinstance(turn, list) for turn in turns):
        raise UnreadableFile(f"expected turns, a list of lists of messages, at {name}, not {shown(batch)}")
    said_at: datetime | None = None
    messages: list[Message] = []
    for number, item in enumerate(item for turn in turns for item in turn):
        if not isinstance(item, Mapping) or item.get("role") not in ROLES or "id" not in item:
            raise UnreadableFile(f"expected a message with role, id and content at {name}[{number}]")
        said_at = _read_anchor(item.get("time_anchor"), name) or said_at
        text = MARK.sub("", read_text(item.get("content"), f"the content at {name}[{number}]"))
        if text.strip():
            role = ROLES[str(item["role"])]
            messages.append(Message(role=role, text=text, said_at=said_at, external_id=str(item["id"])))
    return Session(name, messages)


def _read_anchor(value: object, name: str) -> datetime | None:
    if not value:
        return None
    try:
        return datetime.strptime(str(value), ANCHOR_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise UnreadableFile(f'expected a day like "March-15-2024" in {name}, not {shown(value)}') from error


def _read_question(item: object, ability: str, index: int, stated: Mapping[str, list[str]]) -> BeamQuestion:
    if not isinstance(item, Mapping) or not isinstance(item.get("question"), str):
        raise UnreadableFile(f"expected a question with its rubric at {ability}[{index}], not {shown(item)}")
    points = item.get("rubric")
    rubric = [str(point) for point in points] if isinstance(points, list) else []
    gold = next((str(item[key]) for key in GOLD_KEYS if item.get(key)), "; ".join(rubric))
    sources = dict.fromkeys(_source_ids(item.get("source_chat_ids")))
    evidence = {source: stated[source] for source in sources if source in stated}
    return BeamQuestion(ability, index, item["question"], gold, rubric, evidence)


def _source_ids(value: object) -> Iterator[str]:
    """Yield the ids in a list, or in the lists of a mapping or a list."""
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _source_ids(inner)
    elif value is not None:
        yield str(value)


def _run_chat(
    run: RunFolder[BeamLine],
    setup: Setup[Measured_co],
    chat: BeamChat,
    name: str,
    concurrency: int,
    progress: Progress | None,
) -> WriteFigures:
    """Write a chat and ask its questions, after a search that is not timed: the first one loads the index."""
    figures = run.write_memory(name, setup.open_writer, chat.sessions, chat.chat_id, progress)
    tasks: dict[LineKey, BeamQuestion] = {
        (chat.chat_id, question.ability, question.index): question for question in chat.questions
    }
    if unanswered := run.unanswered(tasks):
        with setup.open_reader(str(run.memory(name))) as memory:
            memory.search(next(iter(unanswered.values())).question, user_id=chat.chat_id)
            run.ask_all(
                tasks,
                lambda question: BeamLine(
                    sample=chat.chat_id,
                    question_type=question.ability,
                    index=question.index,
                    question=question.question,
                    gold=question.gold,
                    rubric=question.rubric,
                    evidence=question.evidence,
                    **dict(measure_recall(memory, chat.chat_id, question.question, budgets=BUDGETS)),
                ),
                concurrency,
                progress,
                f"asking {chat.chat_id}",
            )
    return figures


def _score(lines: Sequence[BeamLine]) -> BeamScores:
    quoted, _ = split_by_answer(lines)
    return BeamScores(
        questions=len(lines),
        source_recall=mean_at_budgets(lines, lambda passages, line: evidence_recall(passages, line.evidence), BUDGETS),
        quote_3=mean(quote_recall(line.quotes, line.evidence, 3) for line in quoted),
    )


def _report(lines: Sequence[BeamLine], written: Sequence[WriteFigures], messages: int) -> dict[str, object]:
    """Return a run's figures under the names of the command line's JSON."""
    seconds = [line.read_seconds for line in lines]
    counts = write_counts(written)
    return {
        **compute(lines).model_dump(),
        "usage": {
            "write": add_usage(write.usage for write in written).model_dump(),
            "read": add_usage(line.read for line in lines).model_dump(),
        },
        "seconds": {
            "write": sum(write.seconds for write in written),
            "write_processor": sum(write.processor_seconds for write in written),
            "read_p50": percentile(seconds, MEDIAN),
            "read_p95": percentile(seconds, NEARLY_ALL),
            **recall_times(lines),
        },
        "peak_memory_mib": max((write.peak_memory_mib for write in written), default=0),
        "shown": shown_means(lines),
        "written": {**counts, "messages": messages, "records_per_message": counts["records"] / max(1, messages)},
    }
