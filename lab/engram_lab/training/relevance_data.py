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

from engram_lab import datasets
from engram_lab.benches import PREFERENCE_TYPE
from engram_lab.datasets import ABSTENTION, CATEGORIES, OPEN_DOMAIN, LocomoQuestion, LongMemEvalQuestion, read_day
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
    """One conversation, and what is asked of it."""

    name: str
    sessions: Sequence[Session]
    questions: Sequence[LabelledQuestion]


def read_locomo(path: Path) -> list[LabelledConversation]:
    """Read a LoCoMo file. The turns that its trick questions were made from do not answer them."""
    samples = datasets.read_locomo(path, categories=(*CATEGORIES, UNANSWERABLE))
    return [
        LabelledConversation(talk.name, talk.sessions, [*map(_locomo_question, talk.questions)]) for talk in samples
    ]


def _locomo_question(question: LocomoQuestion) -> LabelledQuestion:
    """Label a question. Asked of other conversations, some that ask for an inference have an answer."""
    answerable = question.category != UNANSWERABLE
    evidence = frozenset(question.evidence if answerable else ())
    return LabelledQuestion(question.question, answerable, evidence, is_open=question.category == OPEN_DOMAIN)


def read_haystacks(path: Path) -> list[LabelledConversation]:
    """Read the haystacks of a LongMemEval file, each with its question."""
    return [
        LabelledConversation(item.name, item.sessions, [_haystack_question(question, item.asked_at)])
        for item in datasets.read_longmemeval(path)
        for question in item.questions
        if item.sessions
    ]


def _haystack_question(question: LongMemEvalQuestion, asked_at: datetime | None) -> LabelledQuestion:
    """Label a question by the turns marked as evidence, or where none is, by those of the evidence sessions."""
    turns = question.evidence_turns or chain.from_iterable(question.evidence_sessions.values())
    return LabelledQuestion(
        question.question,
        not question.unanswerable,
        frozenset(() if question.unanswerable else turns),
        asked_at,
        is_open=question.question_type == PREFERENCE_TYPE,
    )


def read_evidence(path: Path) -> list[LabelledConversation]:
    """Read LongMemEval's evidence turns, JSON lines: those of some questions together make up one conversation."""
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    read = [(item, list(_evidence_sessions(item))) for item in items if item["evidence_sessions"]]
    pools = [read[first : first + POOL_SIZE] for first in range(0, len(read), POOL_SIZE)]
    return [
        LabelledConversation(
            f"pool{number}",
            [session for _, sessions in pool for session in sessions],
            [_evidence_question(item, sessions) for item, sessions in pool],
        )
        for number, pool in enumerate(pools)
    ]


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


def _evidence_question(item: Mapping[str, Any], sessions: Sequence[Session]) -> LabelledQuestion:
    answerable = not item["question_id"].endswith(ABSTENTION)
    ids = frozenset(message.external_id or "" for session in sessions for message in session.messages)
    is_open = item.get("question_type") == PREFERENCE_TYPE
    return LabelledQuestion(item["question"], answerable, ids if answerable else frozenset(), is_open=is_open)


def read_conversations(path: Path) -> list[LabelledConversation]:
    """Read a file of `sessions` of messages, and `questions` with the ids of the messages that hold the evidence."""
    data = json.loads(path.read_text(encoding="utf-8"))
    sessions = [Session(item["session_id"], to_messages(item["messages"])) for item in data["sessions"]]
    questions = [
        LabelledQuestion(item["question"], bool(item["evidence"]), frozenset(item["evidence"]))
        for item in data["questions"]
    ]
    return [LabelledConversation(path.stem, sessions, questions)]


READERS: Mapping[str, Callable[[Path], list[LabelledConversation]]] = {
    "locomo": read_locomo,
    "longmemeval": read_haystacks,
    "evidence": read_evidence,
    "conversations": read_conversations,
}


def with_foreign_questions(conversations: Sequence[LabelledConversation], most: int) -> list[LabelledConversation]:
    """Return the conversations of one data set, each with questions drawn at random from the others behind its own."""
    random = Random(0)  # the same questions each time
    result = []
    for conversation in conversations:
        foreign = [question for source in conversations for question in _foreign_questions(conversation, source)]
        drawn = random.sample(foreign, min(most, len(foreign)))
        result.append(replace(conversation, questions=[*conversation.questions, *drawn]))
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
            text = pattern.sub(lambda match: names[match.group()], question.text)
            yield LabelledQuestion(text, is_answerable=False)


def _speakers(conversation: LabelledConversation) -> list[str]:
    return list(dict.fromkeys(message.speaker for session in conversation.sessions for message in session.messages))
