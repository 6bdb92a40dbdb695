"""Keep the lines of a run: `questions.jsonl`, one line a question, each written as soon as it is known.

This module does not know what stands in a line.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TextIO, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.schema import Frozen

QUESTIONS_FILE = "questions.jsonl"
LOCK_FILE = ".engram-bench.lock"

Line = TypeVar("Line", bound=Frozen)


def open_lines(out: str | PathLike[str]) -> TextIO:
    """Open the file in a folder, which is made where there is none."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / QUESTIONS_FILE).open("w", encoding="utf-8")


@contextmanager
def continued(out: str | PathLike[str], kind: type[Line]) -> Iterator[tuple[list[Line], TextIO]]:
    """Give the lines that stand in the file of a folder, and the file to add to.

    A last line that was cut off while it was written is taken out of the file.

    Raises:
        InvalidInput: Another run adds to it: both would ask the same.
        UnreadableFile: The file holds lines of another kind.
    """
    path = Path(out) / QUESTIONS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        whole, end, _ = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
        try:
            lines = [kind.model_validate_json(line) for line in whole.split(b"\n") if line]
        except ValidationError as error:
            raise UnreadableFile(f"{path} holds lines of another benchmark: give another folder") from error
        with path.open("a", encoding="utf-8") as file:
            file.truncate(len(whole + end))
            yield lines, file


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder, at once or not at all; a run that died lets go of it."""
    try:
        held = FileLock(folder / LOCK_FILE).acquire(blocking=False)
    except Timeout as error:
        raise InvalidInput(f"another run writes to {str(folder)!r}: wait for it, or give another folder") from error
    with held:
        yield


def kept(lines: Iterator[Line], file: TextIO | None) -> Iterator[Line]:
    """Give lines, each once it stands in the file; without a file, just give them."""
    for line in lines:
        if file:
            file.write(line.model_dump_json() + "\n")
            file.flush()
        yield line
