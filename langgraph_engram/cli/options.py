"""The options that commands share, what holds where they say nothing, and the memory that they open.

What options do not say comes from `ENGRAM_*`, else from `engram.toml`. `Memory` is imported when it is needed, so that
`engram --help` is fast.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_engram.errors import InvalidInput, InvalidSetting

if TYPE_CHECKING:
    from langgraph_engram.filters import Filters
    from langgraph_engram.memory import Memory
    from langgraph_engram.schema import Metadata, PendingTask, Scalar

NAMED = ("store", "user", "model", "preset", "encoder")
TABLES = ("settings", "chat")
"""What a file may hold: names, and tables of single settings; each stands for the variable of its name."""
METADATA = "metadata."
SIGNS = {"=": "$in", "!=": "$nin", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}
FILTER = re.compile(r"([\w.-]+?)\s*(!=|>=|<=|=|>|<)\s*(.+)", re.DOTALL)

RecordId = Annotated[
    str, typer.Argument(metavar="RECORD_ID", help="Its id, or the id's first characters; `engram show` lists them.")
]
User = Annotated[str, typer.Option("--user", "-u", metavar="USER", help="Whose memory it is.", envvar="ENGRAM_USER")]
Tenant = Annotated[str, typer.Option(help="The organisation of the user.")]
Agent = Annotated[str | None, typer.Option(help="The agent whose memory of the user it is.")]
Store = Annotated[
    str | None,
    typer.Option(help="A folder, or the URL of a Chroma server. \\[env var: ENGRAM_STORE] \\[default: ./engram-data]"),
]
Model = Annotated[
    str | None, typer.Option("--model", help='"rules" or "openai:NAME". \\[env var: ENGRAM_MODEL] \\[default: rules]')
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", help="engram, dimmem, esmem, structmem or hymem. \\[env var: ENGRAM_PRESET] \\[default: engram]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
SHARED = {
    name: Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
    for name, kind, default in (
        ("user", User, Parameter.empty), ("store", Store, None), ("model", Model, None), ("preset", Preset, None),
        ("tenant", Tenant, "default"), ("agent", Agent, None), ("as_json", AsJson, False),
    )
}  # fmt: skip
"""The options that many commands have, with their defaults, by the fields of an `Invocation`."""
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help="Only what fulfils it: session=s1, day>=2024-05-01, metadata.project=atlas; also !=, >, <, <=. Repeated: "
        "all keys, and any of the values of one.",
    ),
]


@dataclass(frozen=True)
class Defaults:
    """What holds where the options of a command say nothing: the object of its context."""

    variables: Mapping[str, str]
    """By its name each variable that is set, or that a value of the file stands for."""
    file: str
    from_file: frozenset[str]
    """The names of `NAMED` and `TABLES` that the file gave, and no variable did."""

    def source(self, name: str, given: str | None = None) -> str:
        """Return where a value comes from: an option, a variable, the file, or the defaults."""
        if given is not None:
            return f"--{name}"
        if name in self.from_file:
            return self.file
        return variable_of(name) if variable_of(name) in self.variables else "default"


def variable_of(name: str) -> str:
    """Return the environment variable of a name: `ENGRAM_STORE` of "store"."""
    return f"ENGRAM_{name.upper()}"


def read_defaults(config: Path | None, encoder: str | None) -> Defaults:
    """Return the defaults of a process: its variables, then a file; the encoder of the command line before both."""
    path = config or Path("engram.toml")
    values = _read_config(path) if config or path.is_file() else {}
    if config and (store := values.get("store")) and ":" not in store:
        values["store"] = str(path.parent / Path(store).expanduser())
    variables = {name: value for name, value in os.environ.items() if value}
    if encoder:
        variables[variable_of("encoder")] = encoder
    in_file = {variable_of(name): value for name, value in values.items()}
    from_file = frozenset(name for name in values if variable_of(name) not in variables)
    return Defaults({**in_file, **variables}, str(path), from_file)


def _read_config(path: Path) -> dict[str, str]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidSetting(f"{path}: cannot be read: {reason}") from error
    for name, value in content.items():
        is_text = name in NAMED and isinstance(value, str) and value != ""
        if not is_text and not (name in TABLES and isinstance(value, dict)):
            problem = f"unknown name {name!r}" if name not in NAMED + TABLES else f"{name} is {value!r}"
            raise InvalidSetting(
                f"{path}: {problem}: give texts for {', '.join(NAMED)}, and tables for {', '.join(TABLES)}"
            )
    return {name: json.dumps(value, default=str) if name in TABLES else value for name, value in content.items()}


@dataclass(frozen=True)
class Invocation:
    """What a command was called with of the options that commands share."""

    defaults: Defaults
    user: str = ""
    tenant: str = "default"
    agent: str | None = None
    store: str | None = None
    """None for that of the defaults, as of the model and the preset."""
    model: str | None = None
    preset: str | None = None
    as_json: bool = False

    @property
    def scope(self) -> dict[str, Any]:
        """The scope, as the methods of `Memory` take it."""
        return {"user_id": self.user, "tenant": self.tenant, "agent_id": self.agent}

    @property
    def options(self) -> str:
        """The options of a command on the same memory: "--user ana --store notes"."""
        tenant = None if self.tenant == "default" else self.tenant
        given = {"--user": self.user, "--store": self.store, "--tenant": tenant, "--agent": self.agent}
        return " ".join(f"{name} {quote(value)}" for name, value in given.items() if value is not None)

    def open(self, *, existing: bool = False) -> "Memory":
        """Open the memory that options name, or variables, or the file, or by default."""
        from langgraph_engram.config import resolve, resolve_chat
        from langgraph_engram.stores.base import kind_of_location

        variables = self.defaults.variables
        choice = resolve(self.store, self.model, self.preset, None, environment=variables)
        store, settings, chat = choice.store, choice.settings, resolve_chat(environment=variables)
        if existing and kind_of_location(store) != "server" and not Path(store).exists():
            raise InvalidInput(f"no memory at {store!r}: remember something first, or name the folder with --store")
        from langgraph_engram.memory import Memory

        encoder = variables.get(variable_of("encoder"))
        return Memory(store, choice.model, settings.preset, encoder=encoder, settings=settings, chat=chat)

    def open_existing(self) -> "Memory":
        """Open a memory that was written before: a mistyped folder must not look like an empty one."""
        return self.open(existing=True)

    def pending(self, memory: "Memory") -> "list[PendingTask]":
        """Return what is left to do for the user."""
        return memory.status(**self.scope).pending


def shared(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command these options of `SHARED` after its own, as one `Invocation`."""
    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    after = [SHARED[name] for name in names]

    def share(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(context: typer.Context, **values: Any) -> None:
            command(Invocation(context.obj, **{name: values.pop(name) for name in names}), **values)

        of_command = signature(command)
        own = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in list(of_command.parameters.values())[1:]]
        parameters = [context, *own, *after]
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
