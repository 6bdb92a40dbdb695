"""Read the questions of a LongMemEval file (Wu et al., ICLR 2025) beside their haystacks.

An item without a haystack is read as a question alone: it tells whether queries for the assistant's words are known as
such. This module does not know how a question is scored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath

from langgraph_engram.benchmarks.content import statements_of
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.conversation import Session
from langgraph_engram.formats.fields import shown
from langgraph_engram.formats.json_text import parse_json, read_file
from langgraph_engram.formats.longmemeval import item_sessions, read_time
from langgraph_engram.formats.samples import listed

ABSTENTION = "_abs"
"""How the id of a question ends that has no answer in its haystack."""
ASSISTANT_TYPE = "single-session-assistant"
PREFERENCE_TYPE = "single-session-preference"
"""Questions whose answer is a rubric, not a text."""


@dataclass(frozen=True)
class LongMemEvalQuestion:
    """One question, and the haystack it is asked of."""

    question_id: str
    question_type: str
    question: str
    gold: str
    asked_at: datetime | None
    sessions: list[Session]
    """The haystack; none where the file has the question alone."""
    evidence_sessions: dict[str, dict[str, list[str]]]
    """What the turns of each evidence session state, by session and turn id."""
    evidence_turns: list[str]
    """The ids of the turns that hold the answer."""

    @property
    def is_unanswerable(self) -> bool:
        """Say whether the right answer is that nothing of it was said."""
        return self.question_id.endswith(ABSTENTION)


def read_questions(path: str | PathLike[str]) -> list[LongMemEvalQuestion]:
    """Read a file's questions, in order: JSON or JSON lines, gzipped or not.

    Raises:
        UnreadableFile: The file is missing or is not LongMemEval's.
        InvalidMessages: A turn of it cannot be kept.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        return [_read(item, number) for number, item in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error


def _read(item: Mapping[str, object], number: int) -> LongMemEvalQuestion:
    if not all(isinstance(item.get(key), str) for key in ("question_id", "question_type", "question")):
        raise UnreadableFile(f"expected question_id, question_type and question at item {number}, not {shown(item)}")
    sessions = item_sessions(item) if "haystack_sessions" in item else []
    answering = _strings(item.get("answer_session_ids"))
    date = item.get("question_date")
    return LongMemEvalQuestion(
        question_id=str(item["question_id"]),
        question_type=str(item["question_type"]),
        question=str(item["question"]),
        gold=str(item.get("answer", "")),
        asked_at=read_time(date) if date else None,
        sessions=sessions,
        evidence_sessions={
            session.session_id: _statements(session)
            for session in sessions
            if session.session_id in answering and session.session_id
        },
        evidence_turns=list(_marked(item)) if sessions else [],
    )


def _statements(session: Session) -> dict[str, list[str]]:
    return {str(one.external_id): statements_of(one.text, one.captions) for one in session.messages}


def _marked(item: Mapping[str, object]) -> Iterable[str]:
    """Name the turns that are marked as holding the answer, as `item_sessions` names them."""
    ids, sessions = item["haystack_session_ids"], item["haystack_sessions"]
    assert isinstance(ids, list)  # item_sessions has read both
    assert isinstance(sessions, list)
    for session_id, turns in zip(ids, sessions, strict=True):
        for number, turn in enumerate(turns, start=1):
            if turn.get("has_answer") is True and str(turn.get("content", "")).strip():
                yield f"{session_id}:{number}"


def _strings(value: object) -> set[str]:
    return {str(one) for one in value} if isinstance(value, list) else set()
