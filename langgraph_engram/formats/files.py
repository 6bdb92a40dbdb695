"""Read conversations from a file: our own messages, LoCoMo or LongMemEval; JSON or JSON lines, gzipped or not.

Our own format is a list of messages, or {"sessions": [{"session_id": ..., "messages": [...]}]}.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, get_args

from langgraph_engram.errors import InvalidInput, InvalidMessages, UnreadableFile
from langgraph_engram.formats.datasets import is_locomo, is_longmemeval, locomo_sessions, longmemeval_sessions
from langgraph_engram.formats.messages import Session, read_text, shown, to_messages

GZIP_MAGIC = b"\x1f\x8b"
UNTERMINATED_STRING = "Unterminated string"
EXTRA_DATA = "Extra data"
"""The parser's error at a second document: the file may be JSON lines."""
FileFormat = Literal["auto", "messages", "locomo", "longmemeval"]
OWN_FORMAT = 'a list of messages or {"sessions": [{"session_id": ..., "messages": [...]}]}'
MESSAGE_KEYS = frozenset({"role", "speaker", "text", "content"})


def read_sessions(path: str | PathLike[str], format: str = "auto", sample: str | None = None) -> list[Session]:
    """Read a file's sessions, in order. Formats, samples and errors as of `parse_sessions`.

    Raises:
        UnreadableFile: Also where the file is missing or not permitted.
    """
    name = fspath(path)
    return parse_sessions(_read_bytes(name), name, format, sample)


def parse_sessions(raw: bytes, name: str, format: str = "auto", sample: str | None = None) -> list[Session]:
    """Parse the sessions of a document, in order.

    Args:
        raw: UTF-8 text, gzipped or not.
        name: The name of the document in errors.
        format: "auto", "messages", "locomo" or "longmemeval".
        sample: The sample of a data set: LoCoMo's `sample_id`, LongMemEval's `question_id`.

    Returns:
        Sessions that each have at least one message.

    Raises:
        UnreadableFile: It cannot be read, or has another format; the error says where.
        InvalidMessages: A message in it is invalid.
        InvalidInput: The format is unknown, or the sample is missing or unknown.
    """
    if format not in get_args(FileFormat):
        raise InvalidInput(f"unknown format {format!r}: use one of {', '.join(get_args(FileFormat))}")
    data = parse_json(decode(raw, name), name)
    read = READERS[_detect(data) if format == "auto" else format]
    try:
        sessions = [session for session in read(data, sample) if session.messages]
    except InvalidInput as error:
        raise type(error)(f"{name}: {error}") from error
    if not sessions:
        raise UnreadableFile(f"{name}: expected at least one message, and there is none")
    return sessions


def own_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read our own format: messages, one session, or many.

    Raises:
        InvalidInput: A sample was given, and our own format has none.
        UnreadableFile: The data has another format.
        InvalidMessages: A message is invalid.
    """
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
    """Read a UTF-8 text file, gzipped or not.

    Raises:
        UnreadableFile: It is missing, a folder, not permitted, truncated, or not text.
    """
    return decode(_read_bytes(path), path)


def _read_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{path}: cannot be read: {reason}") from error


def decode(raw: bytes, name: str) -> str:
    """Decode UTF-8 text, gzipped or not.

    Args:
        raw: The whole file.
        name: The name of the file in errors.

    Raises:
        UnreadableFile: It is truncated, or not text.
    """
    try:
        content = gzip.decompress(raw) if raw.startswith(GZIP_MAGIC) else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableFile(f"{name}: expected a whole gzip file, but it is cut off or damaged: {error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{name}: expected UTF-8 text, but byte {error.start} is not: is it binary?") from error


def parse_json(text: str, name: str) -> object:
    """Parse one JSON document, or a list of one document a line.

    Args:
        text: The whole file.
        name: The name of the file in errors.

    Raises:
        UnreadableFile: It is neither; the error has the line and column.
    """
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


READERS: dict[str, Callable[[object, str | None], list[Session]]] = {
    "messages": own_sessions,
    "locomo": locomo_sessions,
    "longmemeval": longmemeval_sessions,
}


def _detect(data: object) -> str:
    """Return the format of parsed JSON: the data sets by keys that only they have, else our own."""
    if is_locomo(data):
        return "locomo"
    return "longmemeval" if is_longmemeval(data) else "messages"


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
