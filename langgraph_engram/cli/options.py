"""The options and arguments that commands share, and the memory that they open.

One that is not given comes from `ENGRAM_*`, else is a default. `Memory` is imported when it is needed, so that
`engram --help` is fast.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.llm.base import Model as LanguageModel
    from langgraph_engram.memory import Memory
    from langgraph_engram.settings import Settings


def _checked_user(user: str) -> str:
    if not user.strip():
        raise typer.BadParameter("it is empty: name the user")
    return user


RUN_HELP = "The run, by its id in a receipt or a decision."
RunId = Annotated[str, typer.Argument(metavar="RUN_ID", help=RUN_HELP)]
RecordId = Annotated[str, typer.Argument(metavar="RECORD_ID", help="The record; `engram show` lists the ids.")]
User = Annotated[
    str,
    typer.Option(
        "--user", "-u", metavar="USER", help="Whose memory it is.", callback=_checked_user, show_default=False
    ),
]
Tenant = Annotated[str, typer.Option("--tenant", help="The organisation of the user.")]
Agent = Annotated[
    str | None, typer.Option("--agent", help="The agent whose memory of the user it is.", show_default=False)
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", help="A folder, or the URL of a Chroma server. \\[default: ./engram-data]", show_default=False
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help='"rules" or "openai:NAME". \\[default: rules]', show_default=False),
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", help="engram, dimmem, esmem, structmem or hymem. \\[default: engram]", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Conversations = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A chat, export, table or text, gzipped or not; - for standard input.", show_default=False
    ),
]


def open_memory(
    store: str | None,
    model: "str | LanguageModel | None",
    preset: str | None,
    settings: "Settings | None" = None,
    encoder: "Encoder | None" = None,
) -> "Memory":
    """Open a memory as `Memory` does: what is None comes from `ENGRAM_*`, else from defaults.

    Raises:
        InvalidInput: An unknown name.
    """
    from langgraph_engram.memory import Memory

    return Memory(store, model, preset, settings=settings, encoder=encoder)


def open_existing(store: str | None, model: str | None = None, preset: str | None = None) -> "Memory":
    """Open a memory that was written before: a mistyped folder must not look like an empty memory.

    Raises:
        InvalidInput: There is no such folder.
    """
    from langgraph_engram.config import resolve

    location = resolve(store, model, preset, None).store
    if "://" not in location and not Path(location).exists():
        raise InvalidInput(f"no memory at {location!r}: remember something first, or name the folder with --store")
    return open_memory(store, model, preset)
