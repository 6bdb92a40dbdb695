"""Read haystacks of LongMemEval (Wu et al., ICLR 2025): one user's dated sessions with an assistant.

Only the dialogue is read: neither the question, nor the answer, nor which turns hold it.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from langgraph_engram.errors import UnreadableFile
from langgraph_engram.formats.fields import choose_sample, listed, read_text, shown
from langgraph_engram.formats.messages import ROLES, Session
from langgraph_engram.state import Message

WEEKDAY = re.compile(r"\s*\(\w+\)")
TIME_FORMATS = ("%Y/%m/%d %H:%M", "%Y/%m/%d")
LIST_KEYS = ("haystack_session_ids", "haystack_dates", "haystack_sessions")


def is_longmemeval(data: object) -> bool:
    """Return whether parsed JSON looks like one LongMemEval item or a list of them."""
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, Mapping) and "haystack_sessions" in first


def longmemeval_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read one item's haystack in its own order.

    Args:
        data: One item or a list of items.
        sample: The `question_id` to read; required only if there are several.

    Raises:
        InvalidInput: There are several items and none was chosen, or the id is unknown.
        UnreadableFile: The shape is not LongMemEval's.
    """
    return item_sessions(choose_sample(listed(data), "question_id", sample))


def item_sessions(item: Mapping[str, object]) -> list[Session]:
    """Read the sessions of one item. External ids are "SESSION:TURN", from turn 1; empty turns are left out."""
    ids, dates, sessions = (_read_list(item, key) for key in LIST_KEYS)
    if not len(ids) == len(dates) == len(sessions):
        raise UnreadableFile(
            f"expected {', '.join(LIST_KEYS)} of equal length, not {len(ids)}, {len(dates)}, {len(sessions)}"
        )
    haystack = [_read_session(*session) for session in zip(ids, dates, sessions, strict=True)]
    return [session for session in haystack if session.messages]


def read_time(value: object) -> datetime:
    """Read "2023/05/20 (Sat) 00:44" or "2023/05/20" as UTC.

    Raises:
        UnreadableFile: It is neither.
    """
    text = WEEKDAY.sub("", str(value)).strip()
    for time_format in TIME_FORMATS:
        try:
            return datetime.strptime(text, time_format).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise UnreadableFile(f'expected a time like "2023/05/20 (Sat) 00:44" or "2023/05/20", not {shown(value)}')


def _read_list(item: Mapping[str, object], key: str) -> list[object]:
    value = item.get(key)
    if not isinstance(value, list):
        raise UnreadableFile(f"expected a LongMemEval item with a list {key}, not {shown(value)}")
    return value


def _read_session(session_id: object, date: object, turns: object) -> Session:
    if not isinstance(turns, list):
        raise UnreadableFile(f"expected a list of turns in session {session_id}, not {shown(turns)}")
    said_at = read_time(date)
    messages = [_read_turn(turn, said_at, f"{session_id}:{number}") for number, turn in enumerate(turns, start=1)]
    return Session(str(session_id), [message for message in messages if message.text.strip()])


def _read_turn(turn: object, said_at: datetime, external_id: str) -> Message:
    if not isinstance(turn, Mapping) or not isinstance(turn.get("role"), str) or turn["role"] not in ROLES:
        raise UnreadableFile(
            f"expected a turn with role user or assistant and content at {external_id}, not {shown(turn)}"
        )
    role = ROLES[turn["role"]]
    text = read_text(turn.get("content"), f"the content at {external_id}")
    return Message(role=role, speaker=role, text=text, said_at=said_at, external_id=external_id)
