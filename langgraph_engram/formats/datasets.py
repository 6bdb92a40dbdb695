"""Read the conversations of LoCoMo (Maharana et al., ACL 2024) and LongMemEval (Wu et al., ICLR 2025).

Only the dialogue is read. Search strings, image addresses, and the summaries and observations derived from the
dialogue are left out: they would give answers away.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.messages import ROLES, Session, read_captions, read_text, shown
from langgraph_engram.state import Message

SESSION_KEY = re.compile(r"session_(\d+)")
TIME_FORMAT = "%I:%M %p on %d %B, %Y"
SHOWN_IDS = 60


def is_locomo(data: object) -> bool:
    """Return whether parsed JSON looks like one LoCoMo sample or a list of them."""
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, Mapping) and "conversation" in first


def locomo_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read one sample's sessions in the order of their numbers.

    Args:
        data: One sample or a list of samples.
        sample: The `sample_id` to read; required only if there are several.

    Raises:
        InvalidInput: There are several samples and none was chosen, or the id is unknown.
        UnreadableFile: The shape is not LoCoMo's.
    """
    return sample_sessions(choose_sample(listed(data), "sample_id", sample))


def sample_sessions(sample: Mapping[str, object]) -> list[Session]:
    """Read the sessions of one sample in the order of their numbers; the ids are "session_1", "session_2", ...

    Every message has the time of its session: LoCoMo dates sessions only.
    """
    conversation = sample.get("conversation")
    if not isinstance(conversation, Mapping):
        raise UnreadableFile(f"expected a LoCoMo sample with a `conversation` object, not {shown(conversation)}")
    numbers = sorted(int(match[1]) for key in conversation if (match := SESSION_KEY.fullmatch(key)))
    sessions = [_read_locomo_session(conversation, f"session_{number}") for number in numbers]
    return [session for session in sessions if session.messages]


def _read_locomo_session(conversation: Mapping[str, object], key: str) -> Session:
    said_at = _read_locomo_time(conversation.get(f"{key}_date_time"), key)
    turns = conversation[key]
    if not isinstance(turns, list):
        raise UnreadableFile(f"expected a list of turns at {key}, not {shown(turns)}")
    messages = [_read_locomo_turn(turn, said_at, f"{key}[{index}]") for index, turn in enumerate(turns)]
    return Session(key, [message for message in messages if message.text.strip() or message.captions])


def _read_locomo_time(value: object, key: str) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.strptime(str(value).strip(), TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise UnreadableFile(f'expected a time like "1:56 pm on 8 May, 2023" for {key}, not {shown(value)}') from error


def _read_locomo_turn(turn: object, said_at: datetime | None, location: str) -> Message:
    if not isinstance(turn, Mapping) or not {"speaker", "dia_id", "text"} <= turn.keys():
        raise UnreadableFile(f"expected a turn with speaker, dia_id and text at {location}, not {shown(turn)}")
    return Message(
        speaker=read_text(turn["speaker"], f"the speaker at {location}"),
        text=read_text(turn["text"], f"the text at {location}"),
        captions=read_captions(turn.get("blip_caption")),
        said_at=said_at,
        external_id=read_text(turn["dia_id"], f"the dia_id at {location}"),
    )


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


def listed(data: object) -> list[Mapping[str, object]]:
    """Return one sample or a list of samples as a list.

    Raises:
        UnreadableFile: It is neither, or empty.
    """
    samples = data if isinstance(data, list) else [data]
    if not samples:
        raise UnreadableFile("expected at least one sample, not an empty list")
    return [_mapping(sample, number) for number, sample in enumerate(samples)]


def choose_sample(samples: Sequence[Mapping[str, object]], id_key: str, chosen: str | None) -> Mapping[str, object]:
    """Return the sample whose `id_key` is `chosen`, or the only one.

    Raises:
        InvalidInput: There are several and none was chosen, or none has that id; the error lists the ids.
    """
    ids = [str(sample.get(id_key)) for sample in samples]
    if chosen is None and len(samples) == 1:
        return samples[0]
    if chosen in ids:
        return samples[ids.index(chosen)]
    named = ", ".join(ids[:SHOWN_IDS]) + (", ..." if len(ids) > SHOWN_IDS else "")
    if chosen is None:
        raise InvalidInput(f"the file holds {len(ids)} samples: choose one (--sample ID) of {named}")
    raise InvalidInput(f"unknown sample {chosen!r}: choose one of {named}")


def _mapping(sample: object, number: int) -> Mapping[str, object]:
    if not isinstance(sample, Mapping):
        raise UnreadableFile(f"expected an object as sample {number}, not {shown(sample)}")
    return sample
