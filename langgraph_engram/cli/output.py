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
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
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
LONG_CELL = 24
"""Columns that each longer cell needs in a table; where they are not there, items are printed one below the other."""


def one_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return _printable(WHITESPACE.sub(" ", text).strip())


def print_text(text: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
    """Print text: wrapped under its indent on a terminal, unbroken in a pipe.

    Args:
        text: What to print; line breaks are kept.
        style: A style of rich.
        indent: Columns to the left of it.
        hang: Further columns to the left of lines that are wrapped.
    """
    console = Console(highlight=False)
    width = max(console.width - indent - hang, MIN_WIDTH)
    for line in _printable(text).split("\n"):
        parts = Text(line, style).wrap(console, width) if console.is_terminal and line else [Text(line, style)]
        for index, part in enumerate(parts):
            console.print(Text(" " * (indent + hang * bool(index))).append_text(part), soft_wrap=True)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows: in a pipe lines of tab-separated cells, on a terminal a table of the columns that are filled.

    Where the terminal is too narrow for a table, each row is printed as a block of lines, its longer cells last.
    """
    console = Console(highlight=False)
    printable = [[one_line(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        for line in [titles, *printable]:
            typer.echo("\t".join(line))
        return
    columns = [_Column(title, cells) for title, cells in zip(titles, zip(*printable, strict=True), strict=True)]
    filled = [column for column in columns if any(column.cells)]
    if sum(column.least_width for column in filled) > console.width:
        _print_blocks(filled, console.width)
    else:
        console.print(_table(filled))


@dataclass(frozen=True)
class _Column:
    """One column of a table."""

    title: str
    cells: Sequence[str]

    @property
    def unbroken(self) -> bool:
        """Return whether its cells are short, or single words to copy."""
        return all(cell_len(cell) <= (SHORT_CELL if " " in cell else LONG_WORD) for cell in self.cells)

    @property
    def least_width(self) -> int:
        """Return how many columns of a terminal it needs, with the space beside it."""
        return 2 + (max(map(cell_len, [self.title, *self.cells])) if self.unbroken else LONG_CELL)


def _table(columns: Sequence[_Column]) -> Table:
    """Return a table whose longer columns share the width by their average length."""
    table = Table(header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), expand=True)
    for column in columns:
        share = None if column.unbroken else 1 + sum(map(len, column.cells)) // len(column.cells) // SHORT_CELL
        table.add_column(column.title, overflow="fold", no_wrap=column.unbroken, ratio=share)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def _print_blocks(columns: Sequence[_Column], width: int) -> None:
    """Print the cells of each row that are filled: the short ones side by side, each longer one on lines of its own."""
    short, long = ([column for column in columns if column.unbroken is unbroken] for unbroken in (True, False))
    for row in range(len(columns[0].cells)):
        pairs = [f"{column.title} {column.cells[row]}".replace(" ", NO_BREAK) for column in short if column.cells[row]]
        for line in wrap("  ".join(pairs), width, break_long_words=False, break_on_hyphens=False):
            print_text(line.replace(NO_BREAK, " "), "bold")
        for column in long:
            if column.cells[row]:
                print_text(f"{column.title}: {column.cells[row]}", indent=2, hang=2)


def print_json(result: "BaseModel | Sequence[BaseModel] | dict[str, object]") -> None:
    """Print one JSON document, in ASCII, so that it survives every terminal and pipe."""
    typer.echo(json.dumps(_as_json(result), indent=2))


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


@dataclass(frozen=True)
class Bar:
    """One line of progress, called with the current step, how much is done, and how much there is."""

    progress: Progress
    task: TaskID

    def __call__(self, step: str, done: int, total: int) -> None:
        """Show the step and how far it has come."""
        self.progress.update(self.task, description=step, completed=done, total=total)


@contextmanager
def progress_bar(first_step: str) -> Iterator[Bar]:
    """Show progress while the context lasts; nothing of it stays on the screen."""
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
        yield Bar(progress, progress.add_task(first_step, total=None))


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


def _as_json(result: object) -> object:
    from pydantic import BaseModel

    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    if isinstance(result, dict):
        return {key: _as_json(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [_as_json(item) for item in result]
    return result
