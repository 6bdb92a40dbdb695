"""Open the memory of a command: what its options do not say comes from `ENGRAM_*`, else from `engram.toml`.

`Memory` is imported when it is needed, so that `engram --help` is fast.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from langgraph_engram.errors import InvalidInput, InvalidSetting, StoreError

if TYPE_CHECKING:
    from langgraph_engram.config import Configuration
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.memory import Memory

FILE_NAME = "engram.toml"
NAMED = ("store", "user", "model", "preset", "encoder")
TABLES = ("settings", "chat")
"""What a file may hold: names, and tables of single settings; each stands for the variable of its name."""


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
    """Return the defaults of a process: its variables, then a file; the encoder of the command line before both.

    Raises:
        InvalidSetting: The file is missing or malformed, or names what it cannot.
    """
    values = read_config(config) if config or Path(FILE_NAME).is_file() else {}
    variables = {name: value for name, value in os.environ.items() if value}
    if encoder:
        variables[variable_of("encoder")] = encoder
    in_file = {variable_of(name): value for name, value in values.items()}
    from_file = frozenset(name for name in values if variable_of(name) not in variables)
    return Defaults({**in_file, **variables}, str(config or FILE_NAME), from_file)


def read_config(config: Path | None = None) -> dict[str, str]:
    """Read a file of defaults: the value of each name, tables as JSON. A store's folder lies beside the file."""
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

    @property
    def choice(self) -> "Configuration":
        """What is chosen: by options, by variables, by the file, or by default."""
        from langgraph_engram.config import resolve

        return resolve(self.store, self.model, self.preset, None, environment=self.defaults.variables)

    def open(self, encoder: "Encoder | None" = None) -> "Memory":
        """Open the memory, with an encoder that is open already, if any."""
        from langgraph_engram.config import resolve_chat
        from langgraph_engram.memory import Memory

        choice = self.choice
        return Memory(
            choice.store,
            choice.model,
            choice.settings.preset,
            encoder=encoder or self.defaults.variables.get(variable_of("encoder")),
            settings=choice.settings,
            chat=resolve_chat(environment=self.defaults.variables),
        )

    def open_existing(self, encoder: "Encoder | None" = None) -> "Memory":
        """Open a memory that was written before.

        Raises:
            InvalidInput: There is no such folder, or an unknown name.
        """
        self.require_store()
        return self.open(encoder)

    def require_store(self) -> None:
        """Check that the folder of the store is there: a mistyped one must not look like an empty memory.

        Raises:
            InvalidInput: There is no such folder, or an unknown name.
        """
        from langgraph_engram.stores.base import kind_of_location

        store = self.choice.store
        if kind_of_location(store) != "server" and not Path(store).exists():
            raise InvalidInput(f"no memory at {store!r}: remember something first, or name the folder with --store")

    @contextmanager
    def open_or_make(self) -> "Iterator[Memory]":
        """Open a memory to write to. A failure before anything is stored leaves no folder that was not there."""
        from langgraph_engram.stores.base import kind_of_location
        from langgraph_engram.stores.locks import missing_folders, remove_folders

        store = self.choice.store
        is_folder = kind_of_location(store) == "folder"
        made = missing_folders(Path(store).expanduser().resolve()) if is_folder else []
        with ExitStack() as closed, self.open() as memory:
            try:
                yield memory
            except BaseException:
                with suppress(StoreError):
                    if not memory.store.scopes():
                        closed.callback(remove_folders, made)
                raise


def loading_encoder(defaults: Defaults) -> "Encoder | None":
    """Return the default encoder, which loads while the rest is imported; None where another is asked for.

    Half of its loading, ONNX Runtime's, leaves Python to other threads.
    """
    if defaults.variables.get(variable_of("encoder"), "minilm") != "minilm":
        return None
    from langgraph_engram.embeddings.minilm_onnx import OnnxMiniLM

    encoder = OnnxMiniLM()
    encoder.start_loading()
    return encoder
