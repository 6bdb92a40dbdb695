"""Print results on stdout, and progress and errors on stderr.

Results are formatted for a terminal, as plain unbroken lines for a pipe, or as one JSON document. Text is printed as it
is, but for control characters.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import wrap
from types import TracebackType
from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

if TYPE_CHECKING:
    from pydantic import BaseModel

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
"""Exit codes."""
DEBUG_VARIABLE = "ENGRAM_DEBUG"
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
WHITESPACE = re.compile(r"\s+")
NO_BREAK = "\xa0"
MIN_WIDTH = 20
SHORT_CELL, LONG_WORD = 16, 48
"""Columns of a cell that is never broken, and of one word, such as an id, that is not."""


def one_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return _printable(WHITESPACE.sub(" ", text).strip())


def print_text(text: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
    """Print text: wrapped on a terminal under its indent, and further lines under `hang` more; unbroken in a pipe."""
    console = Console(highlight=False)
    width = max(console.width - indent - hang, MIN_WIDTH)
    for line in _printable(text).split("\n"):
        parts = Text(line, style).wrap(console, width) if console.is_terminal and line else [Text(line, style)]
        for index, part in enumerate(parts):
            console.print(Text(" " * (indent + hang * bool(index))).append_text(part), soft_wrap=True)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows: in a pipe as lines of tab-separated cells, on a terminal as a block of the cells that are filled.

    In a block short cells stand side by side, and each longer one on lines of its own.
    """
    console = Console(highlight=False)
    printable = [[one_line(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for line in [titles, *printable]:
            typer.echo("\t".join(line))
        return
    is_short = [all(map(_is_short, cells)) for cells in zip(*printable, strict=True)]
    for row in printable:
        cells = [(title, cell, short) for title, cell, short in zip(titles, row, is_short, strict=True) if cell]
        pairs = [f"{title} {cell}".replace(" ", NO_BREAK) for title, cell, short in cells if short]
        for line in wrap("  ".join(pairs), console.width, break_long_words=False, break_on_hyphens=False):
            print_text(line.replace(NO_BREAK, " "), "bold")
        for title, cell, _ in (filled for filled in cells if not filled[-1]):
            print_text(f"{title}: {cell}", indent=2, hang=2)


def _is_short(cell: str) -> bool:
    """Return whether a cell is short, or a single word to copy."""
    return cell_len(cell) <= (SHORT_CELL if " " in cell else LONG_WORD)


def print_json(result: "BaseModel | Sequence[BaseModel] | dict[str, object]") -> None:
    """Print one JSON document, in ASCII, so that it survives every terminal and pipe."""
    from pydantic_core import to_jsonable_python

    typer.echo(json.dumps(to_jsonable_python(result), indent=2))


@contextmanager
def spinner(first_step: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done while the context lasts, where it is unknown how much of it is left.

    Yields:
        A function that changes the text.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(escape(first_step)) as status:
        yield lambda text: status.update(escape(text))


@contextmanager
def progress_bar(first_step: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress while the context lasts; nothing of it stays on the screen.

    Yields:
        A function that shows the current step, how much is done, and how much there is.
    """
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(first_step, total=None)
        yield lambda step, done, total: progress.update(task, description=step, completed=done, total=total)


def fail(message: str, code: int, as_json: bool) -> int:
    """Print an error on one line, and return the exit code."""
    line = " ".join(message.split())
    if as_json:
        typer.echo(json.dumps({"error": line}))
    typer.echo(f"engram: {line}", err=True)
    return code


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether --json is among the options: what follows a bare "--" is no option."""
    given = list(arguments)
    return "--json" in (given[: given.index("--")] if "--" in given else given)


@dataclass(frozen=True)
class BugReport:
    """A `sys.excepthook` that reports an unforeseen error as a bug, on one line."""

    as_json: bool

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print what happened and how to see where; Python then exits with code 1."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        bug = f"this is a bug: {kind.__name__}: {error}"
        fail(f"{bug}; set {DEBUG_VARIABLE}=1 to see where it happened", FAILED, self.as_json)


def _printable(text: str) -> str:
    """Replace control characters, which could steer a terminal; line breaks and tabs stay."""
    return CONTROL_CHARACTER.sub("\ufffd", text)
