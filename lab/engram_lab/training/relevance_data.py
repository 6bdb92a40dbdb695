"""Read what relevance is learned from: conversations, questions about them, and the turns that answer these.

Questions of a data set that its conversation does not answer are taken with the answerable ones. Many more come from
other conversations of the same data set, with the names of this one's speakers: nobody ever spoke of what they ask for.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from engram_lab.datasets import (
    ABSTENTION,
    OPEN_DOMAIN,
    LongMemEvalQuestion,
    locomo_sessions,
    normalise_ids,
    read_day,
    read_longmemeval,
)
from engram_lab.longmemeval import PREFERENCE_TYPE
from langgraph_engram.formats.messages import Session, to_messages

UNANSWERABLE = 5
"""The category of LoCoMo's questions without an answer."""
POOL_SIZE = 24
"""Questions of LongMemEval whose evidence turns make up one conversation."""


@dataclass(frozen=True)
class LabelledQuestion:
    """One question, and the turns that answer it, by the ids of the data set."""

    text: str
    is_answerable: bool
    evidence: frozenset[str] = frozenset()
    asked_at: datetime | None = None
    is_open: bool = False
    """Whether it may have an answer elsewhere too: an inference, or advice that any preference helps with."""


@dataclass(frozen=True)
class LabelledConversation:
    """One conversation, its questions, and those of others that it does not answer."""

    data_set: str
    name: str
    sessions: Sequence[Session]
    questions: Sequence[LabelledQuestion]
    foreign: Sequence[LabelledQuestion] = ()


def read_locomo(path: Path) -> list[LabelledConversation]:
    """Read a LoCoMo file. The turns that its trick questions were made from do not answer them."""
    return [
        LabelledConversation(
            "locomo", sample["sample_id"], locomo_sessions(sample), [_locomo_question(item) for item in sample["qa"]]
        )
        for sample in json.loads(path.read_text(encoding="utf-8"))
    ]


def _locomo_question(item: Mapping[str, Any]) -> LabelledQuestion:
    """Read a question. Asked of other conversations, some that ask for an inference have an answer."""
    answerable = item["category"] != UNANSWERABLE
    evidence = frozenset(normalise_ids(item.get("evidence") or []) if answerable else [])
    return LabelledQuestion(str(item["question"]), answerable, evidence, is_open=item["category"] == OPEN_DOMAIN)


def read_haystacks(path: Path) -> list[LabelledConversation]:
    """Read the haystacks of a LongMemEval file, each with its question."""
    conversations = []
    for item in read_longmemeval(path):
        [question] = item.questions
        labelled = LabelledQuestion(
            question.question,
            not question.unanswerable,
            _evidence_turns(question),
            item.asked_at,
            is_open=question.question_type == PREFERENCE_TYPE,
        )
        if item.sessions:
            conversations.append(LabelledConversation("longmemeval", item.name, item.sessions, [labelled]))
    return conversations


def read_evidence(path: Path) -> list[LabelledConversation]:
    """Read LongMemEval's evidence turns, JSON lines: those of some questions together make up one conversation."""
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    items = [item for item in items if item["evidence_sessions"]]
    pools = [items[first : first + POOL_SIZE] for first in range(0, len(items), POOL_SIZE)]
    return [
        LabelledConversation(
            "evidence",
            f"pool{number}",
            [session for item in pool for session in _evidence_sessions(item)],
            [_evidence_question(item) for item in pool],
        )
        for number, pool in enumerate(pools)
    ]


def read_conversations(path: Path) -> list[LabelledConversation]:
    """Read a file of `sessions` of messages, and `questions` with the ids of the messages that hold the evidence."""
    data = json.loads(path.read_text(encoding="utf-8"))
    sessions = [Session(item["session_id"], to_messages(item["messages"])) for item in data["sessions"]]
    questions = [
        LabelledQuestion(item["question"], bool(item["evidence"]), frozenset(item["evidence"]))
        for item in data["questions"]
    ]
    return [LabelledConversation("conversations", path.stem, sessions, questions)]


READERS: Mapping[str, Callable[[Path], list[LabelledConversation]]] = {
    "locomo": read_locomo,
    "longmemeval": read_haystacks,
    "evidence": read_evidence,
    "conversations": read_conversations,
}
"""The reader of each kind of file."""


def with_foreign_questions(conversations: Sequence[LabelledConversation], most: int) -> list[LabelledConversation]:
    """Return the conversations of one data set, each with questions drawn at random from the others."""
    random = Random(0)  # the same questions each time
    result = []
    for conversation in conversations:
        foreign = [question for source in conversations for question in _foreign_questions(conversation, source)]
        result.append(replace(conversation, foreign=random.sample(foreign, min(most, len(foreign)))))
    return result


def _foreign_questions(conversation: LabelledConversation, source: LabelledConversation) -> Iterator[LabelledQuestion]:
    """Yield the answerable questions of a source, its speakers' names replaced by those of this conversation.

    A question and its form without an answer share a subject: neither is asked of the other's conversation.
    """
    if source.name.removesuffix(ABSTENTION) == conversation.name.removesuffix(ABSTENTION):
        return
    names = dict(zip(_speakers(source), _speakers(conversation), strict=False))
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names) or r"(?!)")
    for question in source.questions:
        if question.is_answerable and not question.is_open:
            yield LabelledQuestion(pattern.sub(lambda match: names[match.group()], question.text), is_answerable=False)


def _speakers(conversation: LabelledConversation) -> list[str]:
    return list(dict.fromkeys(message.speaker for session in conversation.sessions for message in session.messages))


def _evidence_turns(question: LongMemEvalQuestion) -> frozenset[str]:
    """Return the turns that are marked as evidence, or where none is, those of the evidence sessions."""
    if question.unanswerable:
        return frozenset()
    return frozenset(question.evidence_turns or chain.from_iterable(question.evidence_sessions.values()))


def _evidence_sessions(item: Mapping[str, Any]) -> Iterator[Session]:
    for number, session in enumerate(item["evidence_sessions"]):
        name = f"{item['question_id']}-{number}"
        said_at = read_day(session["date"]).isoformat() if session["date"] else None
        messages = [
            {**turn, "said_at": said_at, "external_id": f"{name}:{index}"}
            for index, turn in enumerate(session["turns"])
            if turn["content"].strip()
        ]
        if messages:
            yield Session(name, to_messages(messages))


def _evidence_question(item: Mapping[str, Any]) -> LabelledQuestion:
    unanswerable = item["question_id"].endswith(ABSTENTION)
    ids = {message.external_id or "" for session in _evidence_sessions(item) for message in session.messages}
    return LabelledQuestion(
        item["question"],
        not unanswerable,
        frozenset() if unanswerable else frozenset(ids),
        is_open=item.get("question_type") == PREFERENCE_TYPE,
    )
