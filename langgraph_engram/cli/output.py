"""Write results on stdout: laid out for a terminal, in plain unbroken lines for a pipe, or as one JSON document.

What was said is shown as it is, but for characters that would steer a terminal. This module does not know what any
result means.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

import typer
from pydantic import BaseModel
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
TAB_OR_BREAK = re.compile(r"\s+")
LEAST_WIDTH = 20
SHORT_CELL = 16
"""Characters of a cell that is never broken; longer columns share the width by their average length."""


def print_json(result: BaseModel | Sequence[BaseModel] | dict[str, object]) -> None:
    """Print one JSON document, in ASCII, so that it survives every terminal and pipe."""
    typer.echo(json.dumps(_as_json(result), indent=2))


def harmless(text: str) -> str:
    """Replace characters that steer a terminal; line breaks and tabs stay."""
    return CONTROL_CHARACTER.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Put a text on one line, harmless."""
    return harmless(TAB_OR_BREAK.sub(" ", text).strip())


def say(text: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
    """Print text: wrapped under its indent on a terminal, unbroken in a pipe.

    Args:
        text: What to print; line breaks are kept.
        style: A style of rich.
        indent: Columns to the left of it.
        hang: Further columns to the left of lines that are wrapped.
    """
    console = Console(highlight=False)
    width = max(console.width - indent - hang, LEAST_WIDTH)
    for line in harmless(text).split("\n"):
        parts = Text(line, style).wrap(console, width) if console.is_terminal and line else [Text(line, style)]
        for place, part in enumerate(parts):
            console.print(Text(" " * (indent + hang * bool(place))).append_text(part), soft_wrap=True)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows: a table of the columns that are filled on a terminal; in a pipe lines of tab-separated cells."""
    console = Console(highlight=False)
    if not console.is_terminal:
        for row in [titles, *rows]:
            typer.echo("\t".join(one_line(cell) for cell in row))
        return
    shown = list(rows)
    filled = [place for place in range(len(titles)) if any(row[place] for row in shown)]
    table = Table(header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), expand=True)
    for place in filled:
        lengths = [len(row[place]) for row in shown]
        share = None if max(lengths) <= SHORT_CELL else 1 + sum(lengths) // len(lengths) // SHORT_CELL
        table.add_column(titles[place], overflow="fold", no_wrap=share is None, ratio=share)
    for row in shown:
        table.add_row(*(Text(one_line(row[place])) for place in filled))
    console.print(table)


def _as_json(result: object) -> object:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    if isinstance(result, dict):
        return {key: _as_json(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [_as_json(one) for one in result]
    return result


@dataclass(frozen=True)
class Bar:
    """One line of progress. Called with what is done now, how much is done, and how much there is."""

    progress: Progress
    task: TaskID

    def __call__(self, step: str, done: int, total: int) -> None:
        """Show the step and how far it has come."""
        self.progress.update(self.task, description=step, completed=done, total=total)


@contextmanager
def spinner(doing: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done while the context lasts, where there is no telling how much of it is left.

    Yields:
        What changes the words that are shown.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(escape(doing)) as status:
        yield lambda words: status.update(escape(words))


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


FAILED, MISUSED, INTERRUPTED = 1, 2, 130
DEBUG_VARIABLE = "ENGRAM_DEBUG"


def fail(message: str, code: int, as_json: bool) -> int:
    """Tell what went wrong, on one line, and give the exit code back."""
    line = " ".join(message.split())
    if as_json:
        typer.echo(json.dumps({"error": line}))
    typer.echo(f"engram: {line}", err=True)
    return code


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether --json is among the options: what follows a bare "--" is no option."""
    given = list(arguments)
    return "--json" in (given[: given.index("--")] if "--" in given else given)


@dataclass(frozen=True)
class BugReport:
    """What stands in for `sys.excepthook`: an error that we did not foresee is a bug, and is said to be one."""

    as_json: bool

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Say on one line what happened and how to see where; Python then exits with code 1."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        told = f"{kind.__name__}: {error}"
        fail(f"this is a bug: {told}; set {DEBUG_VARIABLE}=1 to see where it happened", FAILED, self.as_json)
