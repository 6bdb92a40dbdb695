"""Read the questions of a LoCoMo file beside its conversations.

Evidence ids are normalised: several in one string are taken apart, leading zeros go, and those that name no turn are
left out. Adversarial questions (category 5) are not read. This module does not know how a question is scored.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

from langgraph_engram.benchmarks.answer_scores import CATEGORIES
from langgraph_engram.benchmarks.content import statements_of
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.conversation import Session
from langgraph_engram.formats.fields import shown
from langgraph_engram.formats.json_text import parse_json, read_file
from langgraph_engram.formats.locomo import sample_sessions
from langgraph_engram.formats.samples import listed

TURN_ID = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class LocomoQuestion:
    """One question of categories 1 to 4."""

    index: int
    """Its place among all questions of the sample, from 0."""
    category: int
    question: str
    gold: str
    evidence: dict[str, list[str]]
    """The turns that support the answer, by id: what each states."""


@dataclass(frozen=True)
class LocomoSample:
    """One conversation and what is asked about it."""

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
        InvalidMessages: A turn of it cannot be kept.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        samples = [_read_sample(sample, number) for number, sample in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error
    return samples if limit is None else first_questions(samples, limit)


def first_questions(samples: Sequence[LocomoSample], limit: int) -> list[LocomoSample]:
    """Keep the first `limit` questions, and only the samples they are about."""
    kept = []
    for sample in samples:
        questions = sample.questions[: max(0, limit)]
        limit -= len(questions)
        if questions:
            kept.append(LocomoSample(sample.sample_id, sample.sessions, questions))
    return kept


def normalise_ids(evidence: Sequence[object]) -> list[str]:
    """Give the turn ids named in an evidence field, in order, without repeats: "D8:06; D9:17" is D8:6 and D9:17."""
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
    asked = sample.get("qa")
    if not isinstance(asked, list):
        raise UnreadableFile(f"expected a list of questions at qa of sample {number}, not {shown(asked)}")
    questions = [_read_question(one, index, stated) for index, one in enumerate(asked)]
    return LocomoSample(str(sample.get("sample_id", number)), sessions, [one for one in questions if one])


def _read_question(asked: object, index: int, stated: Mapping[str, list[str]]) -> LocomoQuestion | None:
    if not isinstance(asked, Mapping) or not isinstance(asked.get("question"), str):
        raise UnreadableFile(f"expected a question with its category, answer and evidence at qa[{index}]")
    if asked.get("category") not in CATEGORIES:
        return None
    evidence = asked.get("evidence") or []
    return LocomoQuestion(
        index=index,
        category=asked["category"],
        question=asked["question"],
        gold=str(asked.get("answer", "")),
        evidence={turn_id: stated[turn_id] for turn_id in normalise_ids(evidence) if turn_id in stated},
    )
