"""`engram export`, `load`, `backup`, `reembed` and `doctor`: move memories, keep copies, and keep a store sound."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_engram.cli.format import format_count
from langgraph_engram.cli.options import Agent, AsJson, Preset, Store, Tenant, open_existing, open_memory, open_or_make
from langgraph_engram.cli.output import one_line, print_json, print_text, progress_bar, spinner
from langgraph_engram.errors import EncoderMismatch, InvalidInput, StoreOutdated

if TYPE_CHECKING:
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.results import Diagnosis, ExportReceipt, Finding, LoadReceipt

UNSOUND = 3
"""The exit code of a store in which something is wrong."""
SHOWN_IDS = 3
"""Ids shown of one finding; `--json` has all."""

AnyUser = Annotated[
    str | None, typer.Option("--user", "-u", metavar="USER", help="Whose memory it is.", show_default=False)
]


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines; gzipped if its name ends in .gz.")],
    user: AnyUser = None,
    everyone: Annotated[bool, typer.Option("--all", help="Every user, of all tenants and agents.")] = False,
    session: Annotated[
        str | None, typer.Option("--session", help="The only session to export.", show_default=False)
    ] = None,
    store: Store = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Write all that is stored of a user, or of all, to a file that `engram load` reads."""
    if user is None and not everyone:
        raise InvalidInput("whose memory is exported? Name one with --user, or everybody with --all")
    with spinner("exporting"), open_existing(store) as memory:
        receipt = memory.export(
            file, user_id=user, everyone=everyone, session_id=session, tenant=tenant, agent_id=agent
        )
    if as_json:
        print_json(receipt)
    else:
        print_text(f"exported to {receipt.path}: {_format_counts(receipt)}", "bold")


def load(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `engram export` wrote.")],
    user: AnyUser = None,
    store: Store = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Load an exported file: everybody's own, or as the memory of one user. Loading twice adds nothing."""
    with spinner("loading"), open_or_make(store) as memory:
        receipt = memory.load(file, user_id=user, tenant=tenant, agent_id=agent)
    if as_json:
        print_json(receipt)
        return
    print_text(f"loaded: {_format_counts(receipt)}" if _total(receipt) else "nothing new: all was stored", "bold")
    if receipt.differing:
        print_text(f"{format_count(receipt.differing, 'item')} stored otherwise, and left as stored", "yellow")


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make; --store opens it.")],
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Copy a store's folder while it may be in use, by whatever process."""
    from langgraph_engram.config import resolve
    from langgraph_engram.stores.backup import back_up
    from langgraph_engram.stores.base import kind_of_location

    location = resolve(store, None, None, None).store
    if kind_of_location(location) == "server":
        raise InvalidInput(f"{location!r} is a server: copy its folder while it is stopped, or export it")
    with spinner("copying"):
        receipt = back_up(Path(location), folder)
    if as_json:
        print_json(receipt)
    else:
        print_text(f"copied to {receipt.path}: {format_count(receipt.files, 'file')}, {receipt.bytes:,} bytes", "bold")


def reembed(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help='"minilm", "openai:NAME", ... as ENGRAM_ENCODER.')],
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Make a store's vectors anew with another encoder, beside the old ones, and switch over at the end."""
    from langgraph_engram.config import resolve
    from langgraph_engram.embeddings.factory import open_encoder
    from langgraph_engram.stores.reembed import reembed as move

    with progress_bar("opening the store") as bar:
        receipt = move(resolve(store, None, None, None).store, open_encoder(encoder), bar)
    if as_json:
        print_json(receipt)
    elif receipt.before == receipt.after:
        print_text(f"nothing to do: the store has the encoder {receipt.after}", "bold")
    else:
        print_text(f"{format_count(receipt.items, 'item')} moved from {receipt.before} to {receipt.after}", "bold")
        print_text(f"open the store with ENGRAM_ENCODER={encoder} from now on", "yellow")


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be rebuilt from the stored turns.")] = False,
    store: Store = None,
    preset: Preset = None,
    as_json: AsJson = False,
) -> None:
    """Examine a whole store without a model. Exit code 3: something is wrong, and was not mended."""
    with spinner("examining the store"):
        diagnosis = _examine(store, preset, fix)
    if as_json:
        print_json(diagnosis)
    else:
        _print_diagnosis(diagnosis)
    if not diagnosis.is_sound:
        raise typer.Exit(UNSOUND)


def _examine(store: str | None, preset: str | None, fix: bool) -> "Diagnosis":
    """Examine a store under the encoder that it was written with, and in the version that it is of."""
    from langgraph_engram.config import resolve
    from langgraph_engram.doctor.doctor import AbsentEncoder
    from langgraph_engram.embeddings.factory import open_encoder
    from langgraph_engram.results import Diagnosis, Finding
    from langgraph_engram.stores.base import kind_of_location
    from langgraph_engram.stores.folders import open_store

    choice = resolve(store, None, preset, None)
    if kind_of_location(choice.store) != "server" and not Path(choice.store).exists():
        raise InvalidInput(f"no memory at {choice.store!r}: name the folder with --store")
    encoder: Encoder = open_encoder(choice.encoder)
    found: list[Finding] = []
    try:
        open_store(choice.store, encoder, migrate=False).close()
    except EncoderMismatch as error:
        found.append(Finding(check="encoder", detail=str(error)))
        encoder = AbsentEncoder(error.written_with)
    except StoreOutdated as error:
        found.append(_outdated(error, fix))
    try:
        open_store(choice.store, encoder, migrate=fix).close()
        with open_memory(choice.store, "rules", preset, encoder=encoder) as memory:
            diagnosis = memory.doctor(fix=fix)
    except EncoderMismatch as error:
        found.append(Finding(check="encoder", detail=f"vectors are of several encoders: {error}"))
        return Diagnosis(store=choice.store, encoder=encoder.name, findings=found, notes=["nothing else was examined"])
    except StoreOutdated as error:
        found = (
            found if any(finding.check == "schema version" for finding in found) else [*found, _outdated(error, fix)]
        )
        return Diagnosis(store=choice.store, encoder=encoder.name, findings=found, notes=["nothing else was examined"])
    return diagnosis.model_copy(update={"findings": [*found, *diagnosis.findings]})


def _outdated(error: StoreOutdated, fix: bool) -> "Finding":
    from langgraph_engram.results import Finding

    return Finding(check="schema version", detail=str(error), fix="migrates it; a folder is copied before", fixed=fix)


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
    counts = [
        format_count(receipt.turns, "turn"),
        format_count(receipt.events, "event"),
        format_count(receipt.records, "record"),
        format_count(receipt.syntheses, "synthesis", "syntheses"),
        format_count(receipt.decisions, "decision"),
        f"{receipt.pending_tasks:,} pending" if receipt.pending_tasks else "",
        f"of {format_count(receipt.scopes, 'user')}" if receipt.scopes > 1 else "",
    ]
    return ", ".join(part for part in counts if part)


def _total(receipt: "ExportReceipt | LoadReceipt") -> int:
    counts = receipt.model_dump(exclude={"path", "scopes", "known", "differing"})
    return sum(counts.values())
