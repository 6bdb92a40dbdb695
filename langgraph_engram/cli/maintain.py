"""`engram export`, `load`, `backup`, `reembed` and `doctor`: move memories, keep copies, and keep a store sound."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_engram.cli import options
from langgraph_engram.cli.format import format_count, format_items
from langgraph_engram.cli.opening import Invocation
from langgraph_engram.cli.output import one_line, print_json, print_text, progress_bar, spinner
from langgraph_engram.errors import EncoderMismatch, InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.results import Diagnosis, ExportReceipt, LoadReceipt

UNSOUND = 3
"""The exit code of a store in which something is wrong."""
SHOWN_IDS = 3
"""Ids shown of one finding; `--json` has all."""

AnyUser = Annotated[str | None, typer.Option("--user", "-u", metavar="USER", help="Whose memory it is.")]


@options.shared("store", "tenant", "agent", "as_json")
def export(
    command: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines; gzipped if its name ends in .gz.")],
    only_user: AnyUser = None,
    everyone: Annotated[bool, typer.Option("--all", help="Every user, of all tenants and agents.")] = False,
    session: Annotated[str | None, typer.Option("--session", help="The only session to export.")] = None,
) -> None:
    """Write all that is stored of a user, or of all, to a file that `engram load` reads."""
    if only_user is None and not everyone:
        raise InvalidInput("whose memory is exported? Name one with --user, or everybody with --all")
    with spinner("exporting"), command.open_existing() as memory:
        scope = {**command.scope, "user_id": only_user}
        receipt = memory.export(file, everyone=everyone, session_id=session, **scope)
    if command.as_json:
        print_json(receipt)
    else:
        print_text(f"exported to {receipt.path}: {_format_counts(receipt)}", "bold")


@options.shared("store", "tenant", "agent", "as_json")
def load(
    command: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `engram export` wrote.")],
    only_user: AnyUser = None,
) -> None:
    """Load an exported file: everybody's own, or as the memory of one user. Loading twice adds nothing."""
    with spinner("loading"), command.open_or_make() as memory:
        receipt = memory.load(file, **{**command.scope, "user_id": only_user})
    if command.as_json:
        print_json(receipt)
        return
    print_text(f"loaded: {_format_counts(receipt)}" if _total(receipt) else "nothing new: all was stored", "bold")
    if receipt.differing:
        print_text(f"{format_count(receipt.differing, 'item')} stored otherwise, and left as stored", "yellow")


@options.shared("store", "as_json")
def backup(
    command: Invocation,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make; --store opens it.")],
) -> None:
    """Copy a store's folder while it may be in use, by whatever process."""
    from langgraph_engram.stores.base import kind_of_location
    from langgraph_engram.stores.chroma_files import back_up

    location = command.choice.store
    if kind_of_location(location) == "server":
        raise InvalidInput(f"{location!r} is a server: copy its folder while it is stopped, or export it")
    with spinner("copying"):
        receipt = back_up(Path(location), folder)
    if command.as_json:
        print_json(receipt)
    else:
        print_text(f"copied to {receipt.path}: {format_count(receipt.files, 'file')}, {receipt.bytes:,} bytes", "bold")


@options.shared("store", "as_json")
def reembed(
    command: Invocation,
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help='"minilm", "openai:NAME", ... as ENGRAM_ENCODER.')],
) -> None:
    """Make a store's vectors anew with another encoder, beside the old ones, and switch over at the end."""
    from langgraph_engram.embeddings.factory import open_encoder
    from langgraph_engram.stores.reembed import reembed as move

    with progress_bar("opening the store") as bar:
        receipt = move(command.choice.store, open_encoder(encoder), bar)
    if command.as_json:
        print_json(receipt)
    elif receipt.before == receipt.after:
        print_text(f"nothing to do: the store has the encoder {receipt.after}", "bold")
    else:
        print_text(f"{format_count(receipt.items, 'item')} moved from {receipt.before} to {receipt.after}", "bold")
        print_text(f"open the store with ENGRAM_ENCODER={encoder} from now on", "yellow")


@options.shared("store", "preset", "as_json")
def doctor(
    command: Invocation,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be rebuilt from the stored turns.")] = False,
) -> None:
    """Examine a whole store without a model. Exit code 3: something is wrong, and was not mended."""
    with spinner("examining the store"):
        diagnosis = _examine(replace(command, model="rules"), fix)
    if command.as_json:
        print_json(diagnosis)
    else:
        _print_diagnosis(diagnosis)
    if not diagnosis.is_sound:
        raise typer.Exit(UNSOUND)


def _examine(command: Invocation, fix: bool) -> "Diagnosis":
    """Examine a store under the encoder that it was written with."""
    from langgraph_engram.doctor.doctor import AbsentEncoder
    from langgraph_engram.embeddings.factory import open_encoder
    from langgraph_engram.results import Diagnosis, Finding
    from langgraph_engram.stores.folders import open_store

    choice = command.choice
    command.require_store()
    encoder: Encoder = open_encoder(choice.encoder)
    found: list[Finding] = []
    try:
        open_store(choice.store, encoder).close()
    except EncoderMismatch as error:
        found.append(Finding(check="encoder", detail=str(error)))
        encoder = AbsentEncoder(error.written_with)
    try:
        with command.open(encoder) as memory:
            diagnosis = memory.doctor(fix=fix)
    except EncoderMismatch as error:
        found.append(Finding(check="encoder", detail=f"vectors are of several encoders: {error}"))
        return Diagnosis(store=choice.store, encoder=encoder.name, findings=found, notes=["nothing else was examined"])
    return diagnosis.model_copy(update={"findings": [*found, *diagnosis.findings]})


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
    size = f"{format_count(diagnosis.rows, 'row')} of {format_count(diagnosis.scopes, 'user')}"
    wrong = sum(not finding.fixed for finding in diagnosis.findings)
    print_text(f"{size}: {format_count(wrong, 'finding')}" if wrong else f"{size}: sound", "bold")


def _format_counts(receipt: "ExportReceipt | LoadReceipt") -> str:
    pending = f", {receipt.pending_tasks:,} pending" if receipt.pending_tasks else ""
    users = f", of {format_count(receipt.scopes, 'user')}" if receipt.scopes > 1 else ""
    return f"{format_items(receipt, with_zeros=True)}{pending}{users}"


def _total(receipt: "ExportReceipt | LoadReceipt") -> int:
    counts = receipt.model_dump(exclude={"path", "scopes", "known", "differing"})
    return sum(counts.values())
