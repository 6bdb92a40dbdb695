"""The options and arguments that commands share, and the memory that they open.

One that is not given comes from `ENGRAM_*`, else is a default. `Memory` is imported when it is needed, so that
`engram --help` is fast.
"""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.filters import Filters
    from langgraph_engram.llm.base import Model as LanguageModel
    from langgraph_engram.memory import Memory
    from langgraph_engram.schema import Metadata, Scalar
    from langgraph_engram.settings import Settings


def _checked_user(user: str) -> str:
    if not user.strip():
        raise typer.BadParameter("it is empty: name the user")
    return user


METADATA = "metadata."
SIGNS = {"=": "$in", "!=": "$nin", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}
FILTER = re.compile(r"([\w.-]+?)\s*(!=|>=|<=|=|>|<)\s*(.+)", re.DOTALL)

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
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help="Only what fulfils it: session=s1, day>=2024-05-01, metadata.project=atlas; also !=, >, <, <=. Repeated: "
        "all keys, and any of the values of one.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Conversations = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="JSON or JSON lines, gzipped or not; - for standard input.", show_default=False
    ),
]


def read_filters(options: list[str] | None) -> "Filters | None":
    """Return the filters of options such as "day>=2024-05-01"; several values of one key after "=" are alternatives.

    Raises:
        InvalidInput: One has no key, operator or value, or says nothing new of one.
    """
    filters: dict[str, dict[str, Any]] = {}
    for option in options or ():
        match = FILTER.fullmatch(option)
        if match is None:
            raise InvalidInput(f"--filter {option!r} is no condition: write KEY=VALUE, such as session=s1")
        key, sign, text = match.groups()
        known, operator = filters.setdefault(key, {}), SIGNS[sign]
        if operator in ("$in", "$nin"):
            known.setdefault(operator, []).append(_read_value(key, text))
        elif known.setdefault(operator, _read_value(key, text)) != _read_value(key, text):
            raise InvalidInput(f"--filter {option!r} is said twice, with two values: leave one out")
    return {**filters} or None


def read_metadata(options: list[str] | None) -> "Metadata":
    """Return the metadata of options such as "project=atlas".

    Raises:
        InvalidInput: One has no key, or none has a value.
    """
    pairs = [option.partition("=") for option in options or ()]
    if wrong := next((key for key, sign, _ in pairs if not key or not sign), None):
        raise InvalidInput(f"--metadata {wrong!r} is no pair: write KEY=VALUE, such as project=atlas")
    return {key: _read_value(METADATA, text) for key, _, text in pairs}


def _read_value(key: str, text: str) -> "Scalar":
    """Return a value as JSON has it where it is a number, a boolean or a quoted text; else the text."""
    if key.startswith(METADATA):
        with suppress(ValueError):
            value = json.loads(text)
            if isinstance(value, str | int | float | bool):
                return value
    return text


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
