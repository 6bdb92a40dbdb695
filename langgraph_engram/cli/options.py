"""The options and arguments that commands share, and how the values of those that may be repeated are read."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_engram.cli.opening import Invocation
from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.filters import Filters
    from langgraph_engram.schema import Metadata, Scalar


def _checked_user(user: str) -> str:
    if not user.strip():
        raise typer.BadParameter("it is empty: name the user")
    return user


METADATA = "metadata."
SIGNS = {"=": "$in", "!=": "$nin", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}
FILTER = re.compile(r"([\w.-]+?)\s*(!=|>=|<=|=|>|<)\s*(.+)", re.DOTALL)

RUN_HELP = "The run, by its id in a receipt or a decision."
RunId = Annotated[str, typer.Argument(metavar="RUN_ID", help=RUN_HELP)]
RecordId = Annotated[
    str,
    typer.Argument(
        metavar="RECORD_ID", help="The record, by its id or the first characters of it; `engram show` lists the ids."
    ),
]
User = Annotated[
    str,
    typer.Option(
        "--user", "-u", metavar="USER", help="Whose memory it is.", callback=_checked_user, envvar="ENGRAM_USER"
    ),
]
Tenant = Annotated[str, typer.Option("--tenant", help="The organisation of the user.")]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent whose memory of the user it is.")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", help="A folder, or the URL of a Chroma server. \\[env var: ENGRAM_STORE] \\[default: ./engram-data]"
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help='"rules" or "openai:NAME". \\[env var: ENGRAM_MODEL] \\[default: rules]'),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", help="engram, dimmem, esmem, structmem or hymem. \\[env var: ENGRAM_PRESET] \\[default: engram]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
SHARED = {
    name: Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
    for name, annotation, default in (
        ("user", User, Parameter.empty),
        ("store", Store, None),
        ("model", Model, None),
        ("preset", Preset, None),
        ("tenant", Tenant, "default"),
        ("agent", Agent, None),
        ("as_json", AsJson, False),
    )
}
"""The options that many commands have, by the fields of an `Invocation`."""
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help="Only what fulfils it: session=s1, day>=2024-05-01, metadata.project=atlas; also !=, >, <, <=. Repeated: "
        "all keys, and any of the values of one.",
    ),
]
Conversations = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A chat, export, table or text, gzipped or not; - for standard input."),
]


def shared(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command these options of `SHARED` after its own, as one `Invocation`."""
    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)

    def share(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(context: typer.Context, **values: Any) -> None:
            command(Invocation(context.obj, **{name: values.pop(name) for name in names}), **values)

        of_command = signature(command)
        own = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in list(of_command.parameters.values())[1:]]
        parameters = [context, *own, *(SHARED[name] for name in names)]
        called.__signature__ = of_command.replace(parameters=parameters)  # type: ignore[attr-defined] # inspect's name
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return share


def read_filters(options: list[str] | None) -> "Filters | None":
    """Return the filters of options such as "day>=2024-05-01"; several values of one key after "=" are alternatives."""
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
    """Return the metadata of options such as "project=atlas"."""
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
