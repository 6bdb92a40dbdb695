"""Read conversations from a file, gzipped or not: messages of ours, exports of other programs, texts.

The format is recognised by its content, and by the ending of the file's name where that leaves it open. Our own format
is a list of messages, or {"sessions": [{"session_id": ..., "messages": [...]}]}; JSON or JSON lines.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path, PurePath

from langgraph_engram.errors import InvalidInput, InvalidMessages, UnreadableFile
from langgraph_engram.formats.apps import (
    chatgpt_sessions,
    is_chatgpt,
    is_langmem,
    is_mem0,
    langmem_sessions,
    mem0_sessions,
)
from langgraph_engram.formats.lines import (
    dialogue_sessions,
    is_dialogue,
    is_table,
    is_whatsapp,
    note_sessions,
    table_sessions,
    whatsapp_sessions,
)
from langgraph_engram.formats.messages import Session, read_text, shown, to_messages
from langgraph_engram.schema import DateOrder

GZIP_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"
UNTERMINATED_STRING = "Unterminated string"
EXTRA_DATA = "Extra data"
"""The parser's error at a second document: the file may be JSON lines."""
OWN_FORMAT = 'a list of messages or {"sessions": [{"session_id": ..., "messages": [...]}]}'
MESSAGE_KEYS = frozenset({"role", "speaker", "text", "content"})


@dataclass(frozen=True)
class ParsedFile:
    """What a file holds."""

    format: str
    """The format that it was read as: a key of `JSON_READERS` or `TEXT_READERS`."""
    sessions: list[Session]

    def __str__(self) -> str:
        """Return what was read: "whatsapp, 120 messages in 9 sessions"."""
        messages, sessions = sum(len(session.messages) for session in self.sessions), len(self.sessions)
        return (
            f"{self.format}, {messages:,} message{'s'[: messages != 1]} in {sessions:,} session{'s'[: sessions != 1]}"
        )


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
        format: A key of `JSON_READERS` or `TEXT_READERS`, or "auto" to recognise it.
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
        if chosen in TEXT_READERS:
            if sample is not None:
                raise InvalidInput(f"no sample {sample!r}: a file of {chosen} has no samples, leave it out")
            sessions = TEXT_READERS[chosen](text.replace("\r\n", "\n"), name, date_order)
        else:
            data = parse_json(text, name)
            chosen = _recognised_json(data) if format == "auto" else chosen
            sessions = JSON_READERS[chosen](data, sample)
    except InvalidInput as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise type(error)(f"{name}: {error}") from error
    if not any(session.messages for session in sessions):
        raise UnreadableFile(f"{name}: expected at least one message, and there is none")
    return ParsedFile(chosen, [session for session in sessions if session.messages])


def own_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read our own format: messages, one session, or many. It has no samples."""
    if sample is not None:
        raise InvalidInput(f"no sample {sample!r}: a file of messages has no samples, leave it out")
    if isinstance(data, Mapping) and "sessions" in data:
        data = data["sessions"]
        if not isinstance(data, list):
            raise UnreadableFile(f"expected a list at sessions, not {shown(data)}")
        return [_read_session(session, f"sessions[{index}]") for index, session in enumerate(data)]
    items = data if isinstance(data, list) else [data]
    if items and all(isinstance(item, Mapping) and "messages" in item for item in items):
        return [_read_session(session, f"[{index}]") for index, session in enumerate(items)]
    for index, item in enumerate(items):
        if not isinstance(item, Mapping) or not MESSAGE_KEYS & item.keys():
            raise UnreadableFile(f"expected {OWN_FORMAT}; at [{index}] stands {shown(item)}")
    return [Session(None, to_messages(items))]


def read_file(path: str) -> str:
    """Read a UTF-8 text file, gzipped or not."""
    return decode(read_bytes(path), path)


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
    """Parse one JSON document, or a list of one document a line; an error has the line and column."""
    if not text.strip():
        raise UnreadableFile(f"{name}: expected JSON, but the file is empty")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != EXTRA_DATA:
            raise UnreadableFile(_syntax_error(name, error, error.lineno)) from error
        return _parse_json_lines(text, name, error)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"{name}: expected JSON of a sensible depth and size: {error}") from error


JSON_READERS: dict[str, Callable[[object, str | None], list[Session]]] = {
    "messages": own_sessions,
    "chatgpt": chatgpt_sessions,
    "langmem": langmem_sessions,
    "mem0": mem0_sessions,
}
TEXT_READERS: dict[str, Callable[[str, str, DateOrder | None], list[Session]]] = {
    "whatsapp": whatsapp_sessions,
    "csv": table_sessions,
    "dialogue": dialogue_sessions,
    "text": note_sessions,
}
FORMATS = ("auto", *JSON_READERS, *TEXT_READERS)
JSON_MARKS: dict[str, Callable[[object], bool]] = {
    "chatgpt": is_chatgpt,
    "langmem": is_langmem,
    "mem0": is_mem0,
}
"""How JSON is recognised, by keys that only that format has; all else is read as our own."""
EXPORT_FORMAT = "langgraph-engram"
TABLE_ENDINGS, NOTE_ENDINGS, JSON_ENDINGS = (".csv", ".tsv"), (".txt", ".md", ".text"), (".json", ".jsonl", ".ndjson")


def _recognised_json(data: object) -> str:
    """Return which format of JSON it is."""
    if isinstance(data, list) and data and isinstance(data[0], Mapping) and data[0].get("format") == EXPORT_FORMAT:
        raise UnreadableFile("an export of a memory, not of conversations: engram load FILE reads it")
    return next((name for name, fits in JSON_MARKS.items() if fits(data)), "messages")


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


def _read_session(session: object, location: str) -> Session:
    if not isinstance(session, Mapping) or not isinstance(session.get("messages"), list):
        raise UnreadableFile(f"expected a session with a list of messages at {location}, not {shown(session)}")
    try:
        return Session(_read_session_id(session.get("session_id")), to_messages(session["messages"]))
    except InvalidMessages as error:
        raise InvalidMessages(f"{location}.{error}") from error


def _read_session_id(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None if value is None else read_text(value, "session_id").strip() or None


def _parse_json_lines(text: str, name: str, as_document: json.JSONDecodeError) -> list[object]:
    documents: list[object] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            documents.append(json.loads(line))
        except json.JSONDecodeError as error:
            if documents:
                raise UnreadableFile(_syntax_error(name, error, number)) from error
            raise UnreadableFile(_syntax_error(name, as_document, as_document.lineno)) from error
        except (ValueError, RecursionError) as error:
            raise UnreadableFile(f"{name}: expected JSON of a sensible depth and size at line {number}") from error
    return documents


def _syntax_error(name: str, error: json.JSONDecodeError, line: int) -> str:
    truncated = error.pos >= len(error.doc.rstrip()) or error.msg.startswith(UNTERMINATED_STRING)
    problem = "cut off" if truncated else "broken"
    return f"{name}: expected JSON or JSON lines, {problem} at line {line}, column {error.colno}: {error.msg}"
