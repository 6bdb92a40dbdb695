"""Read LongMemEval (Wu et al., ICLR 2025): questions, each with the haystack it is asked of, and their evidence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from os import PathLike, fspath

from langgraph_engram.benchmarks.evidence_scores import statements_of
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.datasets import item_sessions, listed, read_time
from langgraph_engram.formats.files import parse_json, read_file
from langgraph_engram.formats.messages import Session, shown

ABSTENTION = "_abs"
"""The suffix of the id of a question that has no answer in its haystack."""
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
        """Whether the right answer is that nothing was said about it."""
        return self.question_id.endswith(ABSTENTION)


def read_questions(path: str | PathLike[str]) -> list[LongMemEvalQuestion]:
    """Read a file's questions, in order: JSON or JSON lines, gzipped or not.

    Raises:
        UnreadableFile: The file is missing or is not LongMemEval's.
        InvalidMessages: A turn of it cannot be stored.
    """
    name = fspath(path)
    data = parse_json(read_file(name), name)
    try:
        return [_read_question(item, number) for number, item in enumerate(listed(data))]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error


def _read_question(item: Mapping[str, object], number: int) -> LongMemEvalQuestion:
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
        evidence_turns=list(_marked_turns(item)) if sessions else [],
    )


def _statements(session: Session) -> dict[str, list[str]]:
    return {str(message.external_id): statements_of(message.text, message.captions) for message in session.messages}


def _marked_turns(item: Mapping[str, object]) -> Iterable[str]:
    """Yield the ids of the turns that are marked as holding the answer, as `item_sessions` names them."""
    ids, sessions = item["haystack_session_ids"], item["haystack_sessions"]
    assert isinstance(ids, list)  # item_sessions has read both
    assert isinstance(sessions, list)
    for session_id, turns in zip(ids, sessions, strict=True):
        for number, turn in enumerate(turns, start=1):
            if turn.get("has_answer") is True and str(turn.get("content", "")).strip():
                yield f"{session_id}:{number}"


def _strings(value: object) -> set[str]:
    return {str(item) for item in value} if isinstance(value, list) else set()
