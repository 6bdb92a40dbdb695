"""Convert LangChain messages, OpenAI dicts and {"speaker", "text", "said_at"} dicts to `Message`, field by field.

Every error says what is wrong and what to do; callers add the message or the file that a value belongs to. LangChain's
own message ids are not used as external ids: without a checkpointer they are new at every call.
"""

import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage

from langgraph_engram.errors import InvalidMessages
from langgraph_engram.filters import is_text
from langgraph_engram.schema import Role
from langgraph_engram.state import Message, Thread, plain_name

TEXT_TYPES = frozenset({"text", "text-plain", "input_text", "output_text"})
IMAGE_TYPES = frozenset({"image", "image_url", "input_image"})
CAPTION_KEYS = ("caption", "alt_text", "alt", "description")
ROLES: dict[str, Role] = {
    "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "agent": "assistant", "bot": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
MOMENT_KEYS = ("said_at", "timestamp", "created_at")
MAX_CHARACTERS = 1_000_000
"""Text and captions of one message together; more than this is a document."""
SHOWN_CHARACTERS = 80
YEARS = range(1000, 3000)
DATE_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}")
DAY_IN_DIGITS = re.compile(r"[12]\d{3}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
"""Such as 20240101; as seconds since 1970 these are of the year 1970."""

AnyMessage: TypeAlias = BaseMessage | Message | Mapping[str, object]
Messages: TypeAlias = Sequence[AnyMessage] | AnyMessage
"""What can be remembered: messages, oldest first; a single one; or {"messages": [...]} around them."""


@dataclass(frozen=True)
class Session:
    """One session of a conversation: its messages, oldest first."""

    session_id: str | None
    """The session's id in its source; None for a generated id."""
    messages: list[Message]


def to_messages(items: object, *, with_ids: bool = False) -> list[Message]:
    """Convert a list of messages, or a single one, in order.

    A message that only calls tools is left out; tool results and system messages are kept under their role, and no
    record is extracted from them. Speakers without a name are called by their role; names are put on one line and cut
    off after 100 characters.

    Args:
        items: LangChain messages, OpenAI dicts (`role`, `content`, also `name`, `timestamp`), or dicts with `speaker`
            and `text` (also `said_at`, `captions`, `external_id`, `role`); or {"messages": [...]} around them. The
            time of a LangChain message is its own `said_at` or that of its `additional_kwargs`, `timestamp` or
            `created_at`; that of its `response_metadata` counts where none that people and models say lacks one.
        with_ids: Whether LangChain's own ids are external ids, as the messages of a checkpointed thread keep theirs.

    Returns:
        At most one message for each item.

    Raises:
        InvalidMessages: An item is invalid; the error has its index, what is wrong, and what to do.
    """
    messages: list[Message] = []
    listed = list(_as_list(items))
    said = [item for item in listed if isinstance(item, HumanMessage | AIMessage)]
    noted = all(_moment_of(message, noted=True) for message in said)
    for index, item in enumerate(listed):
        try:
            message = _to_message(item, noted=noted)
        except InvalidMessages as error:
            raise InvalidMessages(f"messages[{index}]: {error}") from error
        if message is not None:
            own_id = item.id if with_ids and isinstance(item, BaseMessage) else None
            messages.append(message.model_copy(update={"external_id": own_id}) if own_id else message)
    return messages


def to_thread(items: object) -> Thread:
    """Return a thread for memory to follow, of all its messages, in order.

    Raises:
        InvalidMessages: A message is invalid, or has no id: then nobody can tell whether the thread still holds it.
    """
    if isinstance(items, Thread):
        return items
    messages = to_messages(items, with_ids=True)
    for index, message in enumerate(messages):
        if message.external_id is None:
            raise InvalidMessages(f"thread[{index}] has no id: a graph with a checkpointer gives each message one")
    return Thread(messages=messages, summarized=any(map(is_summary, _as_list(items))))


def is_summary(message: object) -> bool:
    """Return whether a message is a summary, which LangChain's middleware put in place of others."""
    return isinstance(message, BaseMessage) and message.additional_kwargs.get("lc_source") == "summarization"


def to_messages_at(place: str, item: Mapping[str, object]) -> list[Message]:
    """Convert one message of a file; an error begins with its place there."""
    try:
        return to_messages(item)
    except InvalidMessages as error:
        raise InvalidMessages(f"{place}: {str(error).removeprefix('messages[0]: ')}") from error


def read_text(value: object, field: str) -> str:
    """Return a string without what no store can hold: lone surrogates and NUL become U+FFFD."""
    if not isinstance(value, str):
        raise InvalidMessages(f"{field} must be a string, not {shown(value)}")
    valid = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return valid.replace("\x00", "\ufffd")


def read_id(value: object, field: str) -> str | None:
    """Return an id as text, also a whole number; None where it is blank."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None if value is None else read_text(value, field).strip() or None


def read_captions(value: object) -> list[str]:
    """Read one caption or a list of captions, without blank ones."""
    if value is None:
        return []
    captions = [value] if isinstance(value, str) else value
    if not isinstance(captions, Sequence):
        raise InvalidMessages(f"captions must be a list of strings, not {shown(value)}")
    return [text for text in (read_text(caption, "a caption").strip() for caption in captions) if text]


def read_moment(value: object) -> datetime | None:
    """Read ISO 8601 text, a `datetime`, or seconds since 1970. Without an offset it is UTC; None is unknown."""
    if value is None:
        return None
    try:
        moment = _parse_moment(value)
        if moment.year not in YEARS:
            raise ValueError(value)
    except (ValueError, OverflowError) as error:
        raise InvalidMessages(
            f"{shown(value)} is no possible date: use ISO 8601 (2023-05-07T13:56:00Z) or seconds since 1970, within "
            f"the years {YEARS[0]} to {YEARS[-1]}"
        ) from error
    return moment


def read_until(value: object) -> datetime | None:
    """Read the end of a period: a date without a time means the end of that day. Otherwise as `read_moment`."""
    moment = read_moment(value)
    if moment is not None and isinstance(value, str) and DATE_ONLY.fullmatch(value.strip()):
        return moment + timedelta(days=1, microseconds=-1)
    return moment


def check_size(text: str, captions: Sequence[str]) -> None:
    """Check that a message is neither empty nor too long."""
    if not text.strip() and not captions:
        raise InvalidMessages("the message is empty: give it text or a caption, or leave it out")
    characters = len(text) + sum(map(len, captions))
    if characters > MAX_CHARACTERS:
        raise InvalidMessages(f"{characters:,} characters are too many: split it into messages of {MAX_CHARACTERS:,}")


def check_text(argument: str, value: str) -> str:
    """Return a text that is valid Unicode, without lone surrogates and NUL."""
    if not is_text(value):
        raise InvalidMessages(
            f"{argument} holds half a character or NUL in {shown(value)}: send text that is valid Unicode"
        )
    return value


def shown(value: object) -> str:
    """Return the start of a value's representation, for one line of an error."""
    text = reprlib.repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _read_content(content: object) -> tuple[str, list[str]]:
    """Return a content's text, its parts joined by line breaks, and the captions of its images, in order."""
    content = [content] if isinstance(content, str) else () if content is None else content
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise InvalidMessages(f"the text must be a string or a list of parts, not {shown(content)}")
    parts = [_read_part(part) for part in content]
    return "\n".join(text for text, _ in parts if text), [caption for _, caption in parts if caption]


def _as_list(items: object) -> Iterable[object]:
    if isinstance(items, Mapping) and "messages" in items:
        items = items["messages"]
    if isinstance(items, Mapping | BaseMessage | Message):
        return [items]
    if isinstance(items, Sequence) and not isinstance(items, str | bytes):
        return items
    raise InvalidMessages(f"expected a list of messages, not {shown(items)}: put one message in a list")


def _to_message(item: object, *, noted: bool) -> Message | None:
    if isinstance(item, Message):
        check_size(item.text, item.captions)
        for text in (item.text, item.speaker, item.external_id or "", *item.captions):
            check_text("the message", text)
        return item
    if isinstance(item, BaseMessage):
        role = item.role if isinstance(item, ChatMessage) else item.type.removesuffix("MessageChunk").lower()
        said = {"role": role, "name": item.name, "content": item.content, "said_at": _moment_of(item, noted=noted)}
        return _read_mapping({**said, "tool_calls": getattr(item, "tool_calls", None)}, may_be_empty=True)
    if isinstance(item, Mapping):
        return _read_mapping(item)
    raise InvalidMessages(
        f'{shown(item)} is no message: use {{"role": "user", "content": "..."}} or a LangChain message'
    )


def _moment_of(message: BaseMessage, *, noted: bool) -> object:
    """Return the time that a message has, else one that a provider noted, unless nobody can read it."""
    told = _first({**message.additional_kwargs, **(message.model_extra or {})}, MOMENT_KEYS)
    if told is None and noted:
        with suppress(InvalidMessages):
            return read_moment(_first(message.response_metadata, MOMENT_KEYS))
    return told


def _read_mapping(item: Mapping[str, object], *, may_be_empty: bool = False) -> Message | None:
    """Read one message; None if it only calls tools, or is empty and may be."""
    role, speaker = _read_role(item)
    content = _first(item, ("text", "content"))
    calls_tools = bool(item.get("tool_calls") or item.get("function_call"))
    if content is None and not calls_tools and not item.get("captions"):
        raise InvalidMessages(f'there is no "text" or "content" among its keys {shown(list(item))}')
    text, captions = _read_content(content)
    captions += read_captions(item.get("captions"))
    if (calls_tools or may_be_empty) and not text.strip() and not captions:
        return None
    check_size(text, captions)
    return Message(
        role=role,
        speaker=speaker,
        text=text,
        captions=captions,
        said_at=read_moment(_first(item, MOMENT_KEYS)),
        external_id=read_id(_first(item, ("external_id", "id")), "the id"),
    )


def _read_role(item: Mapping[str, object]) -> tuple[Role, str]:
    name, role = _first(item, ("speaker", "name")), item.get("role")
    if role is None and item.get("speaker") is None:
        raise InvalidMessages(f'there is no "role" or "speaker" among its keys {shown(list(item))}')
    speaker = "" if name is None else plain_name(read_text(name, "the speaker"))
    if role is None:
        our_role = ROLES.get(speaker.replace("\ufffd", "").casefold(), "user")
    elif isinstance(role, str) and role.casefold() in ROLES:
        our_role = ROLES[role.casefold()]
    else:
        raise InvalidMessages(f"unknown role {shown(role)}: use one of {', '.join(ROLES)}")
    return our_role, speaker


def _first(item: Mapping[str, object], keys: Iterable[str]) -> object:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _read_part(part: object) -> tuple[str, str]:
    if isinstance(part, str):
        return read_text(part, "a part"), ""
    if not isinstance(part, Mapping):
        raise InvalidMessages(f"a part of the content must be a string or a dict, not {shown(part)}")
    kind = part.get("type", "text")
    if kind in TEXT_TYPES and part.get("text") is not None:
        return read_text(part["text"], "the text of a part"), ""
    inner = part.get("image_url")
    sources = [part, inner] if isinstance(inner, Mapping) else [part]
    caption = next((source[key] for source in sources for key in CAPTION_KEYS if source.get(key)), "")
    return "", read_text(caption, "a caption").strip() if kind in IMAGE_TYPES else ""


def _parse_moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        return datetime.fromisoformat(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or DAY_IN_DIGITS.fullmatch(str(value)):
        raise ValueError(value)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
