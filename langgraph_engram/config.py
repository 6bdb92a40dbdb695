"""Resolve what a user names to the parts of a memory: arguments first, then `ENGRAM_*`, then defaults.

A key in the environment never switches a paid model on by itself.
"""

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from platformdirs import user_data_path
from pydantic import BaseModel, ValidationError

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.errors import InvalidSetting, StoreError, problems_in
from langgraph_engram.graphs.checkpoints import checkpoint_serializer
from langgraph_engram.llm.base import Model
from langgraph_engram.llm.chat import ChatSettings, open_model
from langgraph_engram.presets import changed, preset
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.settings import Settings, StorageSettings, Writer
from langgraph_engram.stores.base import kind_of_location
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.folders import open_store

SETTINGS_VARIABLE = "ENGRAM_SETTINGS"
CHAT_VARIABLE = "ENGRAM_CHAT"
NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


def overridden(settings: Settings, text: str) -> Settings:
    """Return settings with those of a JSON object, or of a file that holds one, in place of some."""
    whole = settings.model_dump()
    for group, change in _read(text, SETTINGS_VARIABLE, '{"update": {"approve": ["MERGE"]}}').items():
        held = whole.get(group)
        whole[group] = {**held, **change} if isinstance(held, dict) and isinstance(change, dict) else change
    if isinstance(whole["paper"], dict) and "name" not in whole["paper"]:
        raise InvalidSetting(f"{SETTINGS_VARIABLE} sets `paper`: {settings.preset!r} follows none, name one that does")
    return _validated(Settings, whole, SETTINGS_VARIABLE)


def with_writer(settings: Settings, writer: Writer | None) -> Settings:
    """Return settings with another writer, where one is named."""
    if writer is not None and writer not in get_args(Writer):
        raise InvalidSetting(f"writer is {writer!r}: choose one of {', '.join(map(repr, get_args(Writer)))}")
    return changed(settings, "extract", writer=writer) if writer else settings


def _of_type(name: str, value: T | None, expected: type[T]) -> T | None:
    if value is not None and not isinstance(value, expected):
        raise InvalidSetting(f"{name} is {value!r}: pass a {expected.__name__} of {expected.__module__}")
    return value


def _validated(expected: type[M], values: dict[str, object], variable: str) -> M:
    try:
        return expected.model_validate(values)
    except ValidationError as error:
        wrong = problems_in(error)
        raise InvalidSetting(
            f"{variable}, or the table of engram.toml that stands for it, does not fit the settings ({wrong}): see "
            f"{expected.__module__}.{expected.__name__}"
        ) from error


def _read(text: str, variable: str, example: str) -> dict[str, object]:
    if not text.strip():
        return {}
    try:
        source = text if text.lstrip().startswith("{") else Path(text).expanduser().read_text(encoding="utf-8")
        changes = json.loads(source)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"{variable} is neither JSON nor a file that holds some ({error}): give such as {example}"
        ) from error
    if not isinstance(changes, dict):
        raise InvalidSetting(f"{variable} holds {type(changes).__name__}, not an object: give such as {example}")
    return changes


@dataclass(frozen=True)
class Configuration:
    """What a user chose, defaults filled in."""

    store: str
    model: str | BaseChatModel | Model
    settings: Settings
    encoder: str | Path | Encoder | Embeddings | None


def resolve(
    store: str | Path | None,
    model: str | BaseChatModel | Model | None,
    preset_name: str | None,
    encoder: str | Path | Encoder | Embeddings | None,
    dataset: str | None = None,
    settings: Settings | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Configuration:
    """Fill in what was not given from the environment, then from defaults. `ENGRAM_SETTINGS` changes the preset."""
    if store is not None and not (isinstance(store, str | Path) and str(store).strip()):
        raise InvalidSetting(f'store is {store!r}: name a folder, the URL of a Chroma server, or "memory:"')
    named = preset(preset_name or environment.get("ENGRAM_PRESET") or "engram", dataset)
    return Configuration(
        store=str(store or environment.get("ENGRAM_STORE") or "./engram-data"),
        model=model or environment.get("ENGRAM_MODEL") or "rules",
        settings=_of_type("settings", settings, Settings) or overridden(named, environment.get(SETTINGS_VARIABLE, "")),
        encoder=encoder or environment.get("ENGRAM_ENCODER") or None,
    )


def resolve_chat(chat: ChatSettings | None = None, environment: Mapping[str, str] = os.environ) -> ChatSettings:
    """Return how a chat model is called: as given, else as `ENGRAM_CHAT` says, else the defaults."""
    if given := _of_type("chat", chat, ChatSettings):
        return given
    text = environment.get(CHAT_VARIABLE, "")
    named = _read(text, CHAT_VARIABLE, '{"timeout_seconds": 300, "concurrency": 1}')
    return _validated(ChatSettings, named, CHAT_VARIABLE)


def resolve_model(model: str | BaseChatModel | Model, chat: ChatSettings) -> Model:
    """Open a model by name: "rules", "openai:NAME", a chat model, or anything that answers questions."""
    return RuleModel() if model == "rules" else open_model(model, chat)


def open_store_and_checkpointer(
    choice: Configuration, settings: StorageSettings, given: BaseCheckpointSaver[str] | None
) -> tuple[ChromaStore, BaseCheckpointSaver[str] | None]:
    """Open a store and, where none is given, a checkpointer of its own; neither stays open where one fails."""
    own = _of_type("checkpointer", given, BaseCheckpointSaver) is None
    opened = open_store(choice.store, open_encoder(choice.encoder), settings=settings)
    try:
        return opened, open_checkpointer(choice.store) if own else None
    except BaseException:
        opened.close()
        raise


def open_checkpointer(store: str) -> BaseCheckpointSaver[str]:
    """Open the checkpointer that goes with a store: a SQLite file beside it, or one of the user's for each server."""
    serializer = checkpoint_serializer()
    kind = kind_of_location(store)
    if kind == "memory":
        return InMemorySaver(serde=serializer)
    path = Path(store).expanduser() / "checkpoints.sqlite"
    if kind == "server":  # the users of two servers may have the same names
        name = NOT_IN_FILE_NAMES.sub("_", store.rstrip("/"))
        path = user_data_path("langgraph-engram", ensure_exists=True) / f"checkpoints-{name}.sqlite"
    with _translated_errors(path):
        connection = sqlite3.connect(path, check_same_thread=False)
        try:
            if connection.execute("PRAGMA page_count").fetchone() == (0,):  # a file that is there may be read-only
                connection.execute("PRAGMA auto_vacuum=FULL")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")  # what is erased is overwritten, not only unlinked
        except sqlite3.Error:
            connection.close()
            raise
    return StepSaver(connection, path, serde=serializer)


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Raise our error for SQLite's, and for a row that holds no checkpoint, while checkpoints are used."""
    try:
        yield
    except (sqlite3.Error, ValueError) as error:
        raise StoreError(
            f"the checkpoints {str(path)!r} cannot be read or written ({error}): look at their disk; if they are "
            f"damaged, move that file away, and `engram retry` does what is pending from the stored turns"
        ) from error


class StepSaver(SqliteSaver):
    """Save each step once, in the checkpoint after it, and not what each node of it returned beside.

    A node that is cut off before the checkpoint is written runs again. What none holds, such as an interrupt, is saved.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, serde: SerializerProtocol) -> None:
        super().__init__(connection, serde=serde)
        self.path = path

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor, and commit after it."""
        with _translated_errors(self.path), super().cursor(transaction) as cursor:
            yield cursor

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote, if a channel of LangGraph's own is among it."""
        if any(channel in WRITES_IDX_MAP for channel, _ in writes):
            super().put_writes(config, writes, task_id, task_path)
