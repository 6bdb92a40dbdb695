"""Read conversations, what is asked about them, and which of their turns answer it: what relevance is learned from.

Questions of a data set that its conversation does not answer are taken with the answerable ones. Many more come from
other conversations of the same data set, put to this one under its own speakers' names: what nobody ever spoke of.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from langgraph_engram.benchmarks.locomo_data import normalise_ids
from langgraph_engram.benchmarks.longmemeval_data import PREFERENCE_TYPE, LongMemEvalQuestion, read_questions
from langgraph_engram.formats.datasets import read_time, sample_sessions
from langgraph_engram.formats.messages import Session, to_messages

UNANSWERABLE = 5
"""The category of LoCoMo's questions that have no answer."""
OPEN_DOMAIN = 3
"""The one whose questions ask for inferences: put to other conversations, some of them can be answered."""
ABSTENTION = "_abs"
POOLED = 24
"""Questions of LongMemEval whose evidence turns alone make up one conversation."""


@dataclass(frozen=True)
class AskedQuestion:
    """One question, and the turns that answer it, by the ids of the data set."""

    text: str
    is_answerable: bool
    evidence: frozenset[str] = frozenset()
    asked_at: datetime | None = None
    is_open: bool = False
    """Whether it may have an answer elsewhere too: an inference, or advice that any preference helps with."""


@dataclass(frozen=True)
class AskedConversation:
    """One conversation, its questions, and those of others that it does not answer."""

    data_set: str
    name: str
    sessions: Sequence[Session]
    questions: Sequence[AskedQuestion]
    foreign: Sequence[AskedQuestion] = ()


def read_locomo(path: Path) -> list[AskedConversation]:
    """Read a LoCoMo file. What its trick questions were made from does not answer them."""
    return [
        AskedConversation(
            "locomo",
            sample["sample_id"],
            sample_sessions(sample),
            [
                AskedQuestion(
                    str(one["question"]),
                    one["category"] != UNANSWERABLE,
                    frozenset(normalise_ids(one.get("evidence") or []) if one["category"] != UNANSWERABLE else []),
                    is_open=one["category"] == OPEN_DOMAIN,
                )
                for one in sample["qa"]
            ],
        )
        for sample in json.loads(path.read_text(encoding="utf-8"))
    ]


def read_longmemeval(path: Path) -> list[AskedConversation]:
    """Read the haystacks of a LongMemEval file, each with its question."""
    return [
        AskedConversation(
            "longmemeval",
            one.question_id,
            one.sessions,
            [
                AskedQuestion(
                    one.question,
                    not one.is_unanswerable,
                    _turns_of(one),
                    one.asked_at,
                    is_open=one.question_type == PREFERENCE_TYPE,
                )
            ],
        )
        for one in read_questions(path)
        if one.sessions
    ]


def read_evidence(path: Path) -> list[AskedConversation]:
    """Read LongMemEval's evidence turns, JSON lines: those of some questions together make up one conversation."""
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    items = [item for item in items if item["evidence_sessions"]]
    pools = [items[first : first + POOLED] for first in range(0, len(items), POOLED)]
    return [
        AskedConversation(
            "evidence",
            f"pool{number}",
            [session for item in pool for session in _evidence_sessions(item)],
            [_evidence_question(item) for item in pool],
        )
        for number, pool in enumerate(pools)
    ]


def read_conversations(path: Path) -> list[AskedConversation]:
    """Read a file of `sessions` of messages, and `questions` with the ids of the messages that hold the evidence."""
    data = json.loads(path.read_text(encoding="utf-8"))
    sessions = [Session(one["session_id"], to_messages(one["messages"])) for one in data["sessions"]]
    questions = [
        AskedQuestion(one["question"], bool(one["evidence"]), frozenset(one["evidence"])) for one in data["questions"]
    ]
    return [AskedConversation("conversations", path.stem, sessions, questions)]


READERS: Mapping[str, Callable[[Path], list[AskedConversation]]] = {
    "locomo": read_locomo,
    "longmemeval": read_longmemeval,
    "evidence": read_evidence,
    "conversations": read_conversations,
}
"""How each kind of file is read."""


def with_foreign_questions(conversations: Sequence[AskedConversation], most: int) -> list[AskedConversation]:
    """Return the conversations of one data set, each with questions drawn by lot from the others."""
    lot = Random(0)  # the same questions each time
    found = []
    for conversation in conversations:
        others = [question for other in conversations for question in _renamed(conversation, other)]
        found.append(replace(conversation, foreign=lot.sample(others, min(most, len(others)))))
    return found


def _renamed(conversation: AskedConversation, other: AskedConversation) -> Iterator[AskedQuestion]:
    """Give what is answered by another conversation, with the names of this one's speakers for those of the other's.

    Two conversations about the same question differ in a mark at the end of their names alone.
    """
    if other.name.removesuffix(ABSTENTION) == conversation.name.removesuffix(ABSTENTION):
        return
    names = dict(zip(_speakers(other), _speakers(conversation), strict=False))
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names) or r"(?!)")
    for question in other.questions:
        if question.is_answerable and not question.is_open:
            yield AskedQuestion(pattern.sub(lambda match: names[match.group()], question.text), is_answerable=False)


def _speakers(conversation: AskedConversation) -> list[str]:
    return list(dict.fromkeys(one.speaker for session in conversation.sessions for one in session.messages))


def _turns_of(question: LongMemEvalQuestion) -> frozenset[str]:
    """Return the turns that are marked as evidence, or where none is, those of the evidence sessions."""
    if question.is_unanswerable:
        return frozenset()
    return frozenset(question.evidence_turns or (one for turns in question.evidence_sessions.values() for one in turns))


def _evidence_sessions(item: Mapping[str, Any]) -> Iterator[Session]:
    for number, session in enumerate(item["evidence_sessions"]):
        name = f"{item['question_id']}-{number}"
        said_at = read_time(session["date"]).isoformat() if session["date"] else None
        messages = [
            {**turn, "said_at": said_at, "external_id": f"{name}:{place}"}
            for place, turn in enumerate(session["turns"])
            if turn["content"].strip()
        ]
        if messages:
            yield Session(name, to_messages(messages))


def _evidence_question(item: Mapping[str, Any]) -> AskedQuestion:
    unanswerable = item["question_id"].endswith(ABSTENTION)
    ids = {one.external_id or "" for session in _evidence_sessions(item) for one in session.messages}
    return AskedQuestion(
        item["question"],
        not unanswerable,
        frozenset() if unanswerable else frozenset(ids),
        is_open=item.get("question_type") == PREFERENCE_TYPE,
    )
