"""Read a file's text and parse it: JSON, or one JSON document a line; gzipped or not, told by its first bytes.

This module does not know what the JSON means.
"""

import gzip
import json
import zlib
from pathlib import Path

from langgraph_engram.errors import UnreadableFile

GZIP_MAGIC = b"\x1f\x8b"
OPEN_STRING = "Unterminated string"
EXTRA_DATA = "Extra data"
"""What the parser says of a second document: the file may be JSON lines."""


def read_file(path: str) -> str:
    """Read UTF-8 text, unpacked where it is gzipped.

    Raises:
        UnreadableFile: It is missing, a folder, not permitted, cut off, or not text.
    """
    try:
        raw = Path(path).read_bytes()
        content = gzip.decompress(raw) if raw.startswith(GZIP_MAGIC) else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableFile(f"{path}: expected a whole gzip file, but it is cut off or damaged: {error}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{path}: cannot be read: {reason}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}: expected UTF-8 text, but byte {error.start} is not: is it binary?") from error


def parse_json(text: str, name: str) -> object:
    """Parse one JSON document, or a list of one document a line.

    Args:
        text: The whole file.
        name: What to call the file in errors.

    Raises:
        UnreadableFile: It is neither; the text names the line and column where it broke.
    """
    if not text.strip():
        raise UnreadableFile(f"{name}: expected JSON, but the file is empty")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != EXTRA_DATA:
            raise UnreadableFile(_broken(name, error, error.lineno)) from error
        return _parse_lines(text, name, error)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"{name}: expected JSON of a sensible depth and size: {error}") from error


def _parse_lines(text: str, name: str, as_one: json.JSONDecodeError) -> list[object]:
    documents: list[object] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            documents.append(json.loads(line))
        except json.JSONDecodeError as error:
            told = _broken(name, error, number) if documents else _broken(name, as_one, as_one.lineno)
            raise UnreadableFile(told) from error
        except (ValueError, RecursionError) as error:
            raise UnreadableFile(f"{name}: expected JSON of a sensible depth and size at line {number}") from error
    return documents


def _broken(name: str, error: json.JSONDecodeError, line: int) -> str:
    ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith(OPEN_STRING)
    end = "cut off" if ends else "broken"
    return f"{name}: expected JSON or JSON lines, {end} at line {line}, column {error.colno}: {error.msg}"
