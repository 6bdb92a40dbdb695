"""`engram export`, `load`, `backup` and `reembed`: move memories between stores and encoders, and keep copies."""

from pathlib import Path
from typing import Annotated

import typer

from langgraph_engram.cli.format import format_count
from langgraph_engram.cli.options import Agent, AsJson, Store, Tenant, open_existing, open_memory
from langgraph_engram.cli.output import print_json, print_text, progress_bar, spinner
from langgraph_engram.errors import InvalidInput
from langgraph_engram.results import ExportReceipt, LoadReceipt

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
    with spinner("loading"), open_memory(store, None, None) as memory:
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

    location = resolve(store, None, None, None).store
    if "://" in location:
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


def _format_counts(receipt: ExportReceipt | LoadReceipt) -> str:
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


def _total(receipt: ExportReceipt | LoadReceipt) -> int:
    counts = receipt.model_dump(exclude={"path", "scopes", "known", "differing"})
    return sum(counts.values())
