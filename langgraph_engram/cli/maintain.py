"""`engram improve`, `export`, `load` and `doctor`: improve what was written free, move it, and keep a store sound."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_engram.cli.options import Invocation, shared
from langgraph_engram.cli.output import count_of, format_items, one_line, print_json, print_result, print_text, progress
from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.results import Diagnosis, ExportReceipt, LoadReceipt

UNSOUND = 3
"""The exit code of a store in which something is wrong."""
SHOWN_IDS = 3

AnyUser = Annotated[str | None, typer.Option("--user", "-u", metavar="USER", help="Whose memory it is.")]


@shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def improve(
    command: Invocation,
    budget: Annotated[int, typer.Option("--budget", metavar="TOKENS", help="Tokens to spend.")] = 20_000,
) -> None:
    """Have the model read sessions that were written without one, those recalled most first. The next call goes on."""
    with progress("reading"), command.open_existing() as memory:
        receipt = memory.improve(**command.scope, budget=budget)
    done = f"{count_of(receipt.syntheses, 'session note')}, {count_of(receipt.decisions, 'decision')}"
    print_result(command, receipt, f"{done}: {receipt.usage.calls:,} calls, {receipt.usage.tokens:,} tokens")


@shared("store", "tenant", "agent", "as_json")
def export(
    command: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines; gzipped if its name ends in .gz.")],
    only_user: AnyUser = None,
    everyone: Annotated[bool, typer.Option("--all", help="Every user, of all tenants and agents.")] = False,
) -> None:
    """Write all that is stored of a user, or of all, to a file that `engram load` reads."""
    if only_user is None and not everyone:
        raise InvalidInput("whose memory is exported? Name one with --user, or everybody with --all")
    with progress("exporting"), command.open_existing() as memory:
        receipt = memory.export(file, everyone=everyone, **{**command.scope, "user_id": only_user})
    print_result(command, receipt, f"exported to {receipt.path}: {_format_counts(receipt)}")


@shared("store", "tenant", "agent", "as_json")
def load(
    command: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `engram export` wrote.")],
    only_user: AnyUser = None,
) -> None:
    """Load an exported file: everybody's own, or as the memory of one user. Loading twice adds nothing."""
    with progress("loading"), command.open() as memory:
        receipt = memory.load(file, **{**command.scope, "user_id": only_user})
    loaded = sum(receipt.model_dump(exclude={"path", "scopes", "known", "differing"}).values())
    print_result(command, receipt, f"loaded: {_format_counts(receipt)}" if loaded else "nothing new: all was stored")
    if receipt.differing and not command.as_json:
        print_text(f"{count_of(receipt.differing, 'item')} stored otherwise, and left as stored", "yellow")


def _format_counts(receipt: "ExportReceipt | LoadReceipt") -> str:
    pending = f", {receipt.pending_tasks:,} pending" if receipt.pending_tasks else ""
    users = f", of {count_of(receipt.scopes, 'user')}" if receipt.scopes > 1 else ""
    return f"{format_items(receipt, with_zeros=True)}{pending}{users}"


@shared("store", "preset", "as_json")
def doctor(
    command: Invocation,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be rebuilt from the stored turns.")] = False,
) -> None:
    """Examine a whole store without a model. Exit code 3: something is wrong, and was not mended."""
    with progress("examining the store"), replace(command, model="rules").open_existing() as memory:
        diagnosis = memory.doctor(fix=fix)
    if command.as_json:
        print_json(diagnosis)
    else:
        _print_diagnosis(diagnosis)
    if not diagnosis.is_sound:
        raise typer.Exit(UNSOUND)


def _print_diagnosis(diagnosis: "Diagnosis") -> None:
    for finding in diagnosis.findings:
        owner = f" of {finding.scope.user_id}" if finding.scope else ""
        number = f": {len(finding.ids):,}{owner}" if finding.ids else ""
        done = "mended" if finding.fixed else f"--fix {finding.fix}" if finding.fix else "not mended by --fix"
        print_text(f"{finding.check}{number}: {one_line(finding.detail)} ({done})", "green" if finding.fixed else "red")
        for item_id in finding.ids[:SHOWN_IDS]:
            print_text(one_line(item_id), "dim", indent=2)
    for note in diagnosis.notes:
        print_text(f"note: {one_line(note)}", "yellow")
    size = f"{count_of(diagnosis.rows, 'row')} of {count_of(diagnosis.scopes, 'user')}"
    wrong = sum(not finding.fixed for finding in diagnosis.findings)
    print_text(f"{size}: {count_of(wrong, 'finding')}" if wrong else f"{size}: sound", "bold")
