"""Keep the lines of a run: `questions.jsonl`, one line a question, each written as soon as it is known.

This module does not know what stands in a line.
"""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TextIO, TypeVar

from langgraph_engram.schema import Frozen

QUESTIONS_FILE = "questions.jsonl"

Line = TypeVar("Line", bound=Frozen)


def open_lines(out: str | PathLike[str]) -> TextIO:
    """Open the file in a folder, which is made where there is none."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / QUESTIONS_FILE).open("w", encoding="utf-8")


def kept(lines: Iterator[Line], file: TextIO | None) -> Iterator[Line]:
    """Give lines, each once it stands in the file; without a file, just give them."""
    for line in lines:
        if file:
            file.write(line.model_dump_json() + "\n")
            file.flush()
        yield line
