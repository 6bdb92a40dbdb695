"""Print results on stdout, and progress and errors on stderr.

Results are formatted for a terminal, as plain unbroken lines for a pipe, or as one JSON document. Text is printed as it
is, but for control characters.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from shlex import quote
from types import TracebackType
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from langgraph_engram.cli.options import Invocation

if TYPE_CHECKING:
    from pydantic import BaseModel

    from langgraph_engram.results import ErasureReceipt, ExportReceipt, LoadReceipt, Receipt, Recollection, Usage
    from langgraph_engram.schema import Evidence, PendingTask

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
DEBUG_VARIABLE = "ENGRAM_DEBUG"
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SHORT_CELL = 16
"""Characters of words, such as a time, that stand beside other cells."""
ITEMS = {"turns": "turn", "events": "event", "records": "record", "syntheses": "synthesis", "decisions": "decision"}
"""The counts that receipts have in common, and what each one is of."""
VERDICT_STYLES = {"sufficient": "green", "partial": "yellow", "absent": "red"}
MISSING_CHARACTERS = 200
"""Characters shown of what is missing; `--json` has it whole."""


def one_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return _printable(" ".join(text.split()))


def print_text(text: str = "", style: str = "", indent: int = 0, hang: int = 0) -> None:
    """Print text: wrapped on a terminal under its indent, and further lines under `hang` more; unbroken in a pipe."""
    console = Console(highlight=False)
    width = max(console.width - indent - hang, 20)
    for line in _printable(text).split("\n"):
        parts = Text(line, style).wrap(console, width) if console.is_terminal and line else [Text(line, style)]
        for index, part in enumerate(parts):
            console.print(Text(" " * (indent + hang * bool(index))).append_text(part), soft_wrap=True)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows: in a pipe as lines of tab-separated cells, on a terminal as a block of the cells that are filled.

    In a block short cells and ids stand side by side, and each longer one on lines of its own.
    """
    printable = [[one_line(cell) for cell in row] for row in rows]
    if not Console().is_terminal:
        for line in [titles, *printable]:
            typer.echo("\t".join(line))
        return
    for row in printable:
        filled = [(title, cell) for title, cell in zip(titles, row, strict=True) if cell]
        longer = {title: cell for title, cell in filled if " " in cell and len(cell) > SHORT_CELL}
        print_text("  ".join(f"{title} {cell}" for title, cell in filled if title not in longer), "bold", hang=2)
        for title, cell in longer.items():
            print_text(f"{title}: {cell}", indent=2, hang=2)


def print_json(result: "BaseModel | Sequence[BaseModel] | dict[str, object]") -> None:
    """Print one JSON document, in ASCII, so that it survives every terminal and pipe."""
    from pydantic_core import to_jsonable_python

    typer.echo(json.dumps(to_jsonable_python(result), indent=2))


def print_result(
    command: Invocation, result: "BaseModel", line: str, *further: str, pending: "Sequence[PendingTask]" = ()
) -> None:
    """Print a result: as JSON where that is asked for, else in one line, and below it more and what is left to do."""
    if command.as_json:
        print_json(result)
        return
    print_text(line, "bold")
    for text in further:
        print_text(text)
    print_next_steps(pending, command)


@contextmanager
def progress(first_step: str) -> Iterator[Callable[..., None]]:
    """Give a function that shows the step and how much of how much is done; nothing of it stays on the screen."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return
    with console.status(escape(first_step)) as status:
        yield lambda step, done=0, total=0: status.update(escape(f"{step} {done:,}/{total:,}" if total else step))


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


def report_bug(as_json: bool, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report an unforeseen error on one line, with how to see where it happened, as a `sys.excepthook` does."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    bug = "; ".join([f"this is a bug: {kind.__name__}: {error}", *getattr(error, "__notes__", [])[-1:]])
    fail(f"{bug}; set {DEBUG_VARIABLE}=1 to see where it happened", FAILED, as_json)


def _printable(text: str) -> str:
    """Replace control characters, which could steer a terminal; line breaks and tabs stay."""
    return CONTROL_CHARACTER.sub("\ufffd", text)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: "1 turn", "2,000 syntheses"."""
    plural = noun.removesuffix("is") + "es" if noun.endswith("is") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def format_items(receipt: "ErasureReceipt | ExportReceipt | LoadReceipt", *, with_zeros: bool) -> str:
    """Return how many items of each kind a receipt counts, in one line."""
    counts = {noun: getattr(receipt, field) for field, noun in ITEMS.items()}
    return ", ".join(count_of(number, noun) for noun, number in counts.items() if number or with_zeros)


def format_cost(usage: "Usage") -> str:
    """Return what a run cost: calls of a model, their tokens and seconds."""
    if not usage.calls:
        return "no model was called"
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    return f"{count_of(usage.calls, 'model call')}, {tokens}, {usage.seconds:.1f} s"


def format_receipt(receipt: "Receipt") -> str:
    """Return what a write did, in one line."""
    if not receipt.stored_turns and receipt.known_turns:
        return f"nothing new: all {count_of(receipt.known_turns, 'turn')} were known"
    parts = [
        f"{count_of(receipt.stored_turns, 'turn')} stored",
        f"{receipt.known_turns:,} known before" if receipt.known_turns else "",
        f"{receipt.edited_turns:,} edited" if receipt.edited_turns else "",
        f"{receipt.withdrawn_turns:,} withdrawn" if receipt.withdrawn_turns else "",
        f"{receipt.restored_turns:,} held again" if receipt.restored_turns else "",
        f"{count_of(receipt.masked, 'secret')} masked" if receipt.masked else "",
        f"{count_of(receipt.refused, 'message')} refused" if receipt.refused else "",
        count_of(receipt.events, "event"),
        count_of(receipt.records, "record"),
        f"{receipt.quarantined:,} quarantined" if receipt.quarantined else "",
        count_of(receipt.decisions, "decision"),
        count_of(receipt.syntheses, "synthesis"),
    ]
    return ", ".join(filter(None, parts))


def print_counts(receipt: "Receipt") -> None:
    """Print what a write did and cost."""
    print_text(format_receipt(receipt), "bold")
    print_text(f"cost: {format_cost(receipt.usage)}", "dim")


def print_recollection(recollection: "Recollection", indent: int = 0) -> None:
    """Print an answer, or what a search found: verdict, evidence, what is missing, and the cost."""
    for line in (recollection.answer or "").splitlines():
        print_text(one_line(line), "bold", indent, hang=2)
    rounds = f", {count_of(recollection.rounds, 'round')}" if recollection.rounds > 1 else ""
    print_text(f"{recollection.verdict}{rounds}", VERDICT_STYLES[recollection.verdict], indent)
    for item in recollection.items:
        print_text(f"{'-' if item.counts else 'left out:'} {one_line(item.text)}", indent=indent + 2, hang=4)
    for number, evidence in _shown_evidence(recollection):
        print_text(f"[{number}] {one_line(evidence.text)}", indent=indent + 2, hang=4)
    for missing in recollection.missing:
        print_text(f"missing: {one_line(missing)[:MISSING_CHARACTERS]}", "yellow", indent)
    for note in recollection.notes:
        print_text(f"note: {one_line(note)}", "yellow", indent)
    print_text(f"cost: {format_cost(recollection.usage)}", "dim", indent)


def next_steps(pending: "Sequence[PendingTask]", command: Invocation) -> list[str]:
    """Return what is left to do, with its command, a line each; none where nothing is pending."""
    waiting = {task.run_id for task in pending if task.awaits_approval}
    steps: list[str] = []
    if waiting:
        verb = "waits" if len(waiting) == 1 else "wait"
        steps.append(f"{count_of(len(waiting), 'run')} {verb} for approval: engram approve {command.options}")
    left = [task for task in pending if task.run_id not in waiting]
    if loads := [task for task in left if task.step == "load"]:
        steps += [f"load it again: engram load {quote(task.run_id)} {command.options}" for task in loads]
    elif left:
        skip = "--skip " if all(task.set_aside for task in left) else ""
        steps.append(f"try again with the same options: engram retry {skip}{command.options}")
    return steps


def print_next_steps(pending: "Sequence[PendingTask]", command: Invocation, indent: int = 0) -> None:
    """Print what is left to do."""
    for step in next_steps(pending, command):
        print_text(step, "yellow", indent)


def _shown_evidence(recollection: "Recollection") -> "list[tuple[int, Evidence]]":
    """Return the evidence that an answer cites, or all that a search found; quotes are evidence themselves."""
    from langgraph_engram.prompts.rendering import cited_numbers

    numbered = list(enumerate(recollection.evidence, start=1))
    if recollection.answer is None:
        return numbered
    if recollection.verdict == "absent" or recollection.quoted:
        return []
    numbers = cited_numbers(recollection.answer)
    return [(number, evidence) for number, evidence in numbered if number in numbers] or numbered[:5]
