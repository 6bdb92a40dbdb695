"""The options and arguments that commands share. One that is not given comes from `ENGRAM_*`, else is a default."""

from pathlib import Path
from typing import Annotated

import typer


def _checked_user(user: str) -> str:
    if not user.strip():
        raise typer.BadParameter("it is empty: name the user")
    return user


RUN_HELP = "The run, by its id in a receipt or a decision."
RunId = Annotated[str, typer.Argument(metavar="RUN_ID", help=RUN_HELP)]
RecordId = Annotated[str, typer.Argument(metavar="RECORD_ID", help="The record; `engram show --json` lists the ids.")]
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
        "--store", help="A folder, or the URL of a Chroma server. [default: ./engram-data]", show_default=False
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help='"rules" or "openai:NAME". [default: rules]', show_default=False),
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", help="engram, dimmem, esmem, structmem or hymem. [default: engram]", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Conversations = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON or JSON lines, gzipped or not.", show_default=False)
]
