"""The options and arguments that commands share, where their values come from, and the memory that they open.

One that is not given comes from `ENGRAM_*`, else from `engram.toml`, else is a default. `Memory` is imported when it is
needed, so that `engram --help` is fast.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langgraph_engram.errors import InvalidInput, InvalidSetting, StoreError

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
RecordId = Annotated[
    str,
    typer.Argument(
        metavar="RECORD_ID", help="The record, by its id or the first characters of it; `engram show` lists the ids."
    ),
]
User = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        metavar="USER",
        help="Whose memory it is.",
        callback=_checked_user,
        envvar="ENGRAM_USER",
        show_default=False,
    ),
]
Tenant = Annotated[str, typer.Option("--tenant", help="The organisation of the user.")]
Agent = Annotated[
    str | None, typer.Option("--agent", help="The agent whose memory of the user it is.", show_default=False)
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="A folder, or the URL of a Chroma server. \\[env var: ENGRAM_STORE] \\[default: ./engram-data]",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", help='"rules" or "openai:NAME". \\[env var: ENGRAM_MODEL] \\[default: rules]', show_default=False
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help="engram, dimmem, esmem, structmem or hymem. \\[env var: ENGRAM_PRESET] \\[default: engram]",
        show_default=False,
    ),
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
        metavar="FILE", help="A chat, export, table or text, gzipped or not; - for standard input.", show_default=False
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


def loading_encoder() -> "Encoder | None":
    """Return the default encoder, which loads while the rest is imported; None where another is asked for.

    Half of its loading, ONNX Runtime's, leaves Python to other threads.
    """
    if os.environ.get(variable_of("encoder")) not in (None, "", "minilm"):
        return None
    from langgraph_engram.embeddings.minilm import MiniLM

    encoder = MiniLM()
    encoder.start_loading()
    return encoder


def open_existing(
    store: str | None, model: str | None = None, preset: str | None = None, encoder: "Encoder | None" = None
) -> "Memory":
    """Open a memory that was written before: a mistyped folder must not look like an empty memory.

    Raises:
        InvalidInput: There is no such folder.
    """
    from langgraph_engram.config import resolve
    from langgraph_engram.stores.base import kind_of_location

    location = resolve(store, model, preset, None).store
    if kind_of_location(location) != "server" and not Path(location).exists():
        raise InvalidInput(f"no memory at {location!r}: remember something first, or name the folder with --store")
    return open_memory(store, model, preset, encoder=encoder)


@contextmanager
def open_or_make(store: str | None, model: str | None = None, preset: str | None = None) -> "Iterator[Memory]":
    """Open a memory to write to. A failure before anything is stored leaves no folder that was not there.

    Raises:
        InvalidInput: An unknown name.
    """
    from langgraph_engram.config import resolve
    from langgraph_engram.stores.base import kind_of_location
    from langgraph_engram.stores.locks import missing_folders, remove_folders

    location = resolve(store, model, preset, None).store
    is_folder = kind_of_location(location) == "folder"
    made = missing_folders(Path(location).expanduser().resolve()) if is_folder else []
    with ExitStack() as closed, open_memory(store, model, preset) as memory:
        try:
            yield memory
        except BaseException:
            with suppress(StoreError):
                if not memory.store.scopes():
                    closed.callback(remove_folders, made)
            raise


FILE_NAME = "engram.toml"
NAMED = ("store", "user", "model", "preset", "encoder")
TABLES = ("settings", "chat")
"""What a file may hold: names, and tables of single settings; each stands for the variable of its name."""


@dataclass(frozen=True)
class Defaults:
    """What holds where the options of a command say nothing."""

    file: str
    """The file that was read."""
    from_file: frozenset[str]
    """The names that the file gave, and no variable did."""

    def source(self, name: str, given: str | None = None) -> str:
        """Return where a value comes from: an option, a variable, the file, or the defaults."""
        if given is not None:
            return f"--{name}"
        if name in self.from_file:
            return self.file
        variable = variable_of(name)
        return variable if os.environ.get(variable) else "default"


def variable_of(name: str) -> str:
    """Return the environment variable of a name: `ENGRAM_STORE` of "store"."""
    return f"ENGRAM_{name.upper()}"


@contextmanager
def defaults(config: Path | None, encoder: str | None = None) -> Iterator[Defaults]:
    """Let a file stand behind the environment while a command runs, and an encoder before it.

    Args:
        config: The file; by default `engram.toml` in the working directory, if there is one.
        encoder: The encoder that the command line names.

    Raises:
        InvalidSetting: The file is missing or malformed, or names what it cannot.
    """
    values = read_config(config) if config or Path(FILE_NAME).is_file() else {}
    added = {name: value for name, value in values.items() if not os.environ.get(variable_of(name))}
    change = added | ({"encoder": encoder} if encoder else {})
    before = {variable_of(name): os.environ.get(variable_of(name)) for name in change}
    os.environ.update({variable_of(name): value for name, value in change.items()})
    try:
        yield Defaults(str(config or FILE_NAME), frozenset(added) - ({"encoder"} if encoder else frozenset()))
    finally:
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value


def read_config(config: Path | None = None) -> dict[str, str]:
    """Read a file of defaults: the value of each name, tables as JSON. A store's folder lies beside the file.

    Raises:
        InvalidSetting: The file is missing or malformed, or names what it cannot.
    """
    path = config or Path(FILE_NAME)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidSetting(f"{path}: cannot be read: {reason}") from error
    values: dict[str, str] = {}
    for name, value in content.items():
        if name in NAMED and isinstance(value, str) and value:
            values[name] = value
        elif name in TABLES and isinstance(value, dict):
            values[name] = json.dumps(value, default=str)
        else:
            problem = f"unknown name {name!r}" if name not in NAMED + TABLES else f"{name} is {value!r}"
            raise InvalidSetting(
                f"{path}: {problem}: give texts for {', '.join(NAMED)}, and tables for {', '.join(TABLES)}"
            )
    store = values.get("store", "")
    if config and store and ":" not in store:
        values["store"] = str(path.parent / Path(store).expanduser())
    return values
