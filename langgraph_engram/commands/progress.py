"""Show on stderr how far a long command has come, where stderr is a terminal; elsewhere say nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn


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
