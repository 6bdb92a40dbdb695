"""Read LoCoMo (Maharana et al., ACL 2024): conversations, the questions of categories 1 to 4, and their evidence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from langgraph_engram.benchmarks.evidence_scores import statements_of
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.datasets import listed, sample_sessions
from langgraph_engram.formats.files import parse_json, read_file
from langgraph_engram.formats.messages import Session, shown

MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP = 1, 2, 3, 4
"""LoCoMo's category numbers."""
CATEGORIES = (MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP)
"""Those that are measured: the fifth, adversarial questions, stays out as in all four papers."""
TURN_ID = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class LocomoQuestion:
    """One question of categories 1 to 4."""

    index: int
    """Its index among all questions of the sample, from 0."""
    category: int
    question: str
    gold: str
    evidence: dict[str, list[str]]
    """The turns that support the answer, by id: what each states."""


@dataclass(frozen=True)
class LocomoSample:
    """One conversation and its questions."""

    sample_id: str
    sessions: list[Session]
    questions: list[LocomoQuestion]


def read_samples(path: str | PathLike[str], limit: int | None = None) -> list[LocomoSample]:
    """Read a file's samples, in order.

    Args:
        path: A LoCoMo file: one sample or a list.
        limit: Keep the first questions up to this number, and only the samples they are about.

    Raises:
        UnreadableFile: The file is missing or is not LoCoMo's.
        InvalidMessages: A turn of it cannot be stored.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        samples = [_read_sample(sample, number) for number, sample in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error
    return samples if limit is None else _first_questions(samples, limit)


def normalise_ids(evidence: Sequence[object]) -> list[str]:
    """Return the turn ids named in an evidence field, in order, without repeats: "D8:06; D9:17" is D8:6 and D9:17."""
    found = [match for text in evidence for match in TURN_ID.finditer(str(text))]
    return list(dict.fromkeys(f"D{int(match[1])}:{int(match[2])}" for match in found))


def _read_sample(sample: Mapping[str, object], number: int) -> LocomoSample:
    sessions = sample_sessions(sample)
    stated = {
        message.external_id: statements_of(message.text, message.captions)
        for session in sessions
        for message in session.messages
        if message.external_id
    }
    items = sample.get("qa")
    if not isinstance(items, list):
        raise UnreadableFile(f"expected a list of questions at qa of sample {number}, not {shown(items)}")
    questions = [_read_question(item, index, stated) for index, item in enumerate(items)]
    return LocomoSample(
        str(sample.get("sample_id", number)), sessions, [question for question in questions if question]
    )


def _read_question(item: object, index: int, stated: Mapping[str, list[str]]) -> LocomoQuestion | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("question"), str):
        raise UnreadableFile(f"expected a question with its category, answer and evidence at qa[{index}]")
    if item.get("category") not in CATEGORIES:
        return None
    evidence = item.get("evidence") or []
    return LocomoQuestion(
        index=index,
        category=item["category"],
        question=item["question"],
        gold=str(item.get("answer", "")),
        evidence={turn_id: stated[turn_id] for turn_id in normalise_ids(evidence) if turn_id in stated},
    )


def _first_questions(samples: Sequence[LocomoSample], limit: int) -> list[LocomoSample]:
    needed = []
    for sample in samples:
        questions = sample.questions[: max(0, limit)]
        limit -= len(questions)
        if questions:
            needed.append(LocomoSample(sample.sample_id, sample.sessions, questions))
    return needed
