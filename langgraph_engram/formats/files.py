"""Read conversations from a file, gzipped or not: messages of ours, exports of other programs, texts.

The format is recognised by its content, and by the ending of the file's name where that leaves it open. Our own format
is a list of messages, or {"sessions": [{"session_id": ..., "messages": [...]}]}; JSON or JSON lines. A memory of
langmem or mem0 is read as a message of its user, at the time when it was made: what it was drawn from is not there.
"""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import Any

from langgraph_engram.errors import InvalidInput, InvalidMessages, UnreadableFile
from langgraph_engram.formats.lines import (
    dialogue_sessions,
    is_dialogue,
    is_table,
    is_whatsapp,
    note_sessions,
    table_sessions,
    whatsapp_sessions,
)
from langgraph_engram.formats.messages import Session, read_id, shown, to_messages, to_messages_at
from langgraph_engram.schema import DateOrder
from langgraph_engram.state import Message

EXPORT_FORMAT = "langgraph-engram"
GZIP_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"
VISIBLE = re.compile(r"\S")
OWN_FORMAT = 'a list of messages or {"sessions": [{"session_id": ..., "messages": [...]}]}'
TABLE_ENDINGS, NOTE_ENDINGS, JSON_ENDINGS = (".csv", ".tsv"), (".txt", ".md", ".text"), (".json", ".jsonl", ".ndjson")
SHOWN_IDS = 60

_Memory = tuple[str, str, object, object]
"""A memory of another program: whose it is, its text, when it was made, and its id."""


@dataclass(frozen=True)
class ParsedFile:
    """What a file holds."""

    format: str
    sessions: list[Session]


def read_sessions(path: str | PathLike[str], format: str = "auto", sample: str | None = None) -> list[Session]:
    """Read a file's sessions, in order. Formats, samples and errors as of `parse_conversations`.

    Raises:
        UnreadableFile: Also where the file is missing or not permitted.
    """
    name = fspath(path)
    return parse_conversations(read_bytes(name), name, format, sample).sessions


def parse_conversations(
    raw: bytes, name: str, format: str = "auto", sample: str | None = None, date_order: DateOrder | None = None
) -> ParsedFile:
    """Parse the conversations of a document.

    Args:
        raw: UTF-8 text, gzipped or not.
        name: The name of the document in errors, and in the session ids of texts that have none of their own.
        format: One of `FORMATS`; "auto" recognises it.
        sample: What to read of a file that holds several: a conversation of ChatGPT, a user of mem0, a
            namespace of langmem.
        date_order: Whether days or months come first in dates such as 03/04/24, where the document does not show it.

    Returns:
        Sessions that each have at least one message, in order.

    Raises:
        UnreadableFile: It cannot be read, or has another format; the error says where.
        InvalidMessages: A message in it is invalid.
        InvalidInput: The format is unknown or cannot be recognised, the sample is missing or unknown, or the order of
            its dates is uncertain.
    """
    if format not in FORMATS:
        raise InvalidInput(f"unknown format {format!r}: use one of {', '.join(FORMATS)}")
    if raw.startswith(ZIP_MAGIC):
        raise UnreadableFile(f"{name}: is a zip archive: unpack it, and name the file of conversations inside")
    text = decode(raw, name)
    if not text.strip():
        raise UnreadableFile(f"{name}: expected conversations, but the file is empty")
    chosen = _recognised_text(text, name) if format == "auto" else format
    try:
        data = None if chosen in TEXT_READERS else parse_json(text, name)
        chosen = _recognised_json(data) if chosen == "auto" else chosen
        if sample is not None and chosen in ("messages", *TEXT_READERS):
            raise InvalidInput(f"no sample {sample!r}: a file of {chosen} has no samples, leave it out")
        if chosen in TEXT_READERS:
            sessions = TEXT_READERS[chosen](text.replace("\r\n", "\n"), name, date_order)
        else:
            sessions = JSON_READERS[chosen](data, sample)
    except InvalidInput as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise type(error)(f"{name}: {error}") from error
    if not any(session.messages for session in sessions):
        raise UnreadableFile(f"{name}: expected at least one message, and there is none")
    return ParsedFile(chosen, [session for session in sessions if session.messages])


def read_bytes(path: str) -> bytes:
    """Read a file, or raise `UnreadableFile`."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{path}: cannot be read: {reason}") from error


def decode(raw: bytes, name: str) -> str:
    """Decode UTF-8 text, gzipped or not; `name` is what errors call it."""
    try:
        content = gzip.decompress(raw) if raw.startswith(GZIP_MAGIC) else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableFile(f"{name}: expected a whole gzip file, but it is cut off or damaged: {error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{name}: expected UTF-8 text, but byte {error.start} is not: is it binary? Text has to be saved as UTF-8"
        ) from error


def parse_json(text: str, name: str) -> object:
    """Parse one JSON document, or a list of several, one after another; an error has the line and column."""
    if not text.strip():
        raise UnreadableFile(f"{name}: expected JSON, but the file is empty")
    documents: list[object] = []
    decoder, position = json.JSONDecoder(), 0
    try:
        while found := VISIBLE.search(text, position):
            document, position = decoder.raw_decode(text, found.start())
            documents.append(document)
    except json.JSONDecodeError as error:
        is_cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        place = f"{'cut off' if is_cut_off else 'broken'} at line {error.lineno}, column {error.colno}"
        raise UnreadableFile(f"{name}: expected JSON or JSON lines, {place}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"{name}: expected JSON of a sensible depth and size: {error}") from error
    return documents[0] if len(documents) == 1 else documents


def _recognised_json(data: object) -> str:
    """Return which format of JSON it is, by keys that only that format has; all else is read as our own."""
    items = _mem0_items(data)
    first = _mapping(items[0] if isinstance(items, list) and items else items)
    if isinstance(data, list) and first.get("format") == EXPORT_FORMAT:
        raise UnreadableFile("an export of a memory, not of conversations: engram load FILE reads it")
    if isinstance(first.get("mapping"), Mapping):
        return "chatgpt"
    if {"namespace", "key", "value"} <= first.keys():
        return "langmem"
    return "mem0" if isinstance(first.get("memory"), str) else "messages"


def _recognised_text(text: str, name: str) -> str:
    """Return which format of lines a text has; "auto" where it is JSON, or to be read as such."""
    ending = PurePath(name.removesuffix(".gz")).suffix.casefold()
    if is_whatsapp(text):
        return "whatsapp"
    whole = text.strip()
    if ending in JSON_ENDINGS or (whole[0] in "{[" and (ending not in NOTE_ENDINGS or whole[-1] in "}]")):
        return "auto"
    if ending in TABLE_ENDINGS or is_table(text):
        return "csv"
    if is_dialogue(text):
        return "dialogue"
    if ending in NOTE_ENDINGS:
        return "text"
    raise InvalidInput(f"{name}: the format cannot be told: say it with --format, one of {', '.join(FORMATS[1:])}")


def own_sessions(data: object, sample: str | None = None) -> list[Session]:  # noqa: ARG001
    """Read our own format: messages, one session, or many."""
    if isinstance(data, Mapping) and "sessions" in data:
        data = data["sessions"]
        if not isinstance(data, list):
            raise UnreadableFile(f"expected a list at sessions, not {shown(data)}")
        return [_read_session(session, f"sessions[{index}]") for index, session in enumerate(data)]
    items = data if isinstance(data, list) else [data]
    if items and all(isinstance(item, Mapping) and "messages" in item for item in items):
        return [_read_session(session, f"[{index}]") for index, session in enumerate(items)]
    for index, item in enumerate(items):
        if not isinstance(item, Mapping) or not {"role", "speaker", "text", "content"} & item.keys():
            raise UnreadableFile(f"expected {OWN_FORMAT}; at [{index}] stands {shown(item)}")
    return [Session(None, to_messages(items))]


def _read_session(session: object, location: str) -> Session:
    if not isinstance(session, Mapping) or not isinstance(session.get("messages"), list):
        raise UnreadableFile(f"expected a session with a list of messages at {location}, not {shown(session)}")
    try:
        return Session(read_id(session.get("session_id"), "session_id"), to_messages(session["messages"]))
    except InvalidMessages as error:
        raise InvalidMessages(f"{location}.{error}") from error


def _chatgpt_sessions(data: object, sample: str | None) -> list[Session]:
    """Read conversations, oldest first: of each the branch that was last shown, without tools and hidden messages."""
    conversations = _items(data, "mapping", Mapping, "a conversation with a mapping")
    if sample is not None:
        by_id = {str(_id(item)): item for item in conversations}
        conversations = [by_id[_chosen([*by_id], sample)]]
    return [Session(_id(item), _spoken(item)) for item in sorted(conversations, key=_begin)]


def _langmem_sessions(data: object, sample: str | None) -> list[Session]:
    """Read the memories of one namespace, its parts joined by "/": items as `store.search` gives them."""
    memories: list[_Memory] = []
    for item in _items(data, "namespace", (list, str), "an item with namespace, key and value"):
        parts = item["namespace"]
        namespace = "/".join(map(str, parts)) if isinstance(parts, list) else str(parts)
        memories.append((namespace, _text(item.get("value")), item.get("created_at"), item.get("key")))
    return _memories("langmem", memories, sample)


def _mem0_sessions(data: object, sample: str | None) -> list[Session]:
    """Read the memories of one user: a list, or `{"results": [...]}` around it."""
    memories: list[_Memory] = [
        (str(item.get("user_id") or ""), str(item["memory"]), item.get("created_at"), item.get("id"))
        for item in _items(_mem0_items(data), "memory", str, "an object with a memory")
    ]
    return _memories("mem0", memories, sample)


def _items(data: object, key: str, types: type | tuple[type, ...], expected: str) -> Sequence[Mapping[str, object]]:
    """Return the items of a list, or a single one: objects that have a value of such a type."""
    items: list[Any] = data if isinstance(data, list) else [data]
    for number, item in enumerate(items):
        if not isinstance(item, Mapping) or not isinstance(item.get(key), types):
            raise UnreadableFile(f"expected {expected} at [{number}], not {shown(item)}")
    return items


def _chosen(sources: Sequence[str], sample: str | None) -> str:
    """Return the source that is asked for, or the only one; of several, maybe of several users, none is guessed."""
    chosen = sources[0] if sample is None and len(sources) == 1 else sample
    if chosen is not None and chosen in sources:
        return chosen
    named = ", ".join(sources[:SHOWN_IDS]) + (", ..." if len(sources) > SHOWN_IDS else "")
    if sample is None:
        raise InvalidInput(f"the file holds {len(sources)} samples: choose one (--sample ID) of {named}")
    raise InvalidInput(f"unknown sample {sample!r}: choose one of {named}")


def _memories(program: str, memories: Sequence[_Memory], sample: str | None) -> list[Session]:
    """Return the memories of one source as a session, oldest first."""
    sources = list(dict.fromkeys(source for source, *_ in memories))
    if sample is not None or len(sources) > 1:
        sources = [_chosen(sources, sample)]
    messages: list[Message] = []
    for number, (source, text, time, key) in enumerate(memories):
        if source in sources and text.strip():
            messages += to_messages_at(f"[{number}]", {"role": "user", "text": text, "said_at": time, "id": key})
    messages.sort(key=lambda message: message.said_at.timestamp() if message.said_at else 0)
    return [Session("-".join(filter(None, [program, *sources])), messages)]


def _text(value: object) -> str:
    """Return the words of a stored value: its content, or its fields by name."""
    if isinstance(value, Mapping):
        for key in ("content", "text", "memory"):
            if value.get(key):
                return _text(value[key])
        return "; ".join(f"{key}: {text}" for key, field in value.items() if key != "kind" and (text := _text(field)))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    return "" if value is None else str(value)


def _mem0_items(data: object) -> object:
    return data["results"] if isinstance(data, Mapping) and "results" in data else data


def _id(conversation: Mapping[str, object]) -> str | None:
    return read_id(conversation.get("conversation_id") or conversation.get("id"), "the id of a conversation")


def _begin(conversation: Mapping[str, object]) -> float:
    time = conversation.get("create_time")
    return float(time) if isinstance(time, int | float) else 0.0


def _spoken(conversation: Mapping[str, object]) -> list[Message]:
    """Return what was said on the branch that ends at `current_node`, in order."""
    mapping = conversation["mapping"]
    assert isinstance(mapping, Mapping)  # seen by `_conversation`
    title = shown(conversation.get("title"))
    branch: list[tuple[str, Mapping[str, object]]] = []
    seen: set[object] = set()
    position = conversation.get("current_node")
    while position is not None:
        node = mapping.get(position)
        if not isinstance(node, Mapping) or position in seen:
            raise UnreadableFile(f"expected the nodes of a tree in conversation {title}, broken at {shown(position)}")
        seen.add(position)
        if isinstance(message := node.get("message"), Mapping):
            branch.append((str(position), message))
        position = node.get("parent")
    if not branch and mapping:
        raise InvalidInput(f"conversation {title} has no current_node: export it from ChatGPT anew")
    return [said for node_id, message in reversed(branch) for said in _message(message, node_id, title)]


def _message(message: Mapping[str, object], node_id: str, title: str) -> list[Message]:
    """Return a message of ChatGPT as one of ours; none where it is not part of what was said."""
    author, content, metadata = (_mapping(message.get(key)) for key in ("author", "content", "metadata"))
    parts = content.get("parts")
    said = (
        author.get("role") in ("user", "assistant")
        and content.get("content_type") in ("text", "multimodal_text")  # not reasoning, code, or results of tools
        and message.get("recipient") in (None, "all")
        and not metadata.get("is_visually_hidden_from_conversation")
    )
    text = "\n".join(part for part in parts if isinstance(part, str)).strip() if isinstance(parts, list) else ""
    if not said or not text:
        return []
    item = {"role": author["role"], "text": text, "said_at": message.get("create_time"), "id": node_id}
    return to_messages_at(f"conversation {title}, message {node_id}", item)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


JSON_READERS: dict[str, Callable[[object, str | None], list[Session]]] = {
    "messages": own_sessions,
    "chatgpt": _chatgpt_sessions,
    "langmem": _langmem_sessions,
    "mem0": _mem0_sessions,
}
TEXT_READERS: dict[str, Callable[[str, str, DateOrder | None], list[Session]]] = {
    "whatsapp": whatsapp_sessions,
    "csv": table_sessions,
    "dialogue": dialogue_sessions,
    "text": note_sessions,
}
FORMATS = ("auto", *JSON_READERS, *TEXT_READERS)
