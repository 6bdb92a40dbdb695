"""Graphs over a store on disk with its checkpoints, which can be closed and opened again."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_engram.config import open_checkpointer
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.graphs.read import build_read_graph
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.llm.base import Model
from langgraph_engram.papers.structmem import WindowScheduler
from langgraph_engram.presets import preset
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings
from langgraph_engram.state import Message, RecallRequest, RememberRequest
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.folders import open_store
from langgraph_engram.testing import FakeModel
from tests.conftest import CHOOSER, NOON, SCHEDULER, by_rule

FIRST = (
    ("Ana", "My sister Runa lives in Oslo and teaches music there."),
    ("Ben", "How nice! I keep bees in the garden behind our house."),
    ("Ana", "By the way, I went camping by the lake with Tom yesterday."),
)
SECOND = (
    ("Ana", "My sister Runa no longer lives in Oslo and teaches music there."),
    ("Ben", "Oh! I sold my bees last week because the garden was too small."),
)
WHOSE = Scope(user_id="ana")
QUESTION = RecallRequest(query="Where does Ana's sister Runa teach music?", user_id="ana", run_id="read")
THREAD = {"configurable": {"thread_id": "thread"}}


def answering() -> FakeModel:
    """Make a model that answers as the rules do, and remembers what it was asked."""
    return FakeModel([by_rule] * 200)


def session(name: str, said: tuple[tuple[str, str], ...], at: datetime) -> RememberRequest:
    messages = [
        Message(speaker=speaker, text=text, said_at=at + timedelta(minutes=number))
        for number, (speaker, text) in enumerate(said)
    ]
    return RememberRequest(user_id="ana", session_id=name, messages=messages, close_session=True, run_id=f"run-{name}")


@pytest.fixture(scope="session")
def first() -> RememberRequest:
    """A conversation of three turns about three things."""
    return session("one", FIRST, NOON)


@pytest.fixture(scope="session")
def second() -> RememberRequest:
    """A later conversation that changes what the first one said."""
    return session("two", SECOND, NOON + timedelta(days=30))


class Deployment:
    """A folder with a store and its checkpoints, as one process after another would open it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: Store
        self.checkpointer: SqliteSaver
        self._open()

    def _open(self) -> None:
        self.store = open_store(self.folder, HashingEncoder())
        opened = open_checkpointer(str(self.folder))
        assert isinstance(opened, SqliteSaver)
        self.checkpointer = opened

    def reopen(self) -> None:
        self.close()
        self._open()

    def close(self) -> None:
        self.store.close()
        self.checkpointer.conn.close()

    def writing(self, model: Model, settings: Settings | None = None, store: Store | None = None) -> Any:
        """Build a graph in which a model writes all, and tells each session at its end, however short it is."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SCHEDULER, lambda settings, **_: WindowScheduler(settings))
            patch.setattr(CHOOSER, lambda *_: None)
            return build_write_graph(store or self.store, model, model, settings or preset("engram"), self.checkpointer)

    def reading(self, model: Model, settings: Settings | None = None) -> Any:
        return build_read_graph(self.store, model, RuleModel(), settings or preset("engram"), self.checkpointer)

    def contents(self) -> dict[str, list[dict[str, object]]]:
        """Return everything that is stored, but the times at which it was written."""
        index = self.store.index(WHOSE)
        kept = {name: getattr(index, name).items for name in ("turns", "events", "boundaries", "records", "syntheses")}
        kept |= {"decisions": self.store.decisions(WHOSE), "pending_tasks": self.store.pending_tasks(WHOSE)}
        return {
            name: sorted((item.model_dump(exclude={"decided_at", "since"}) for item in items), key=str)
            for name, items in kept.items()
        }


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory, first: RememberRequest) -> Path:
    """A folder in which the first conversation is remembered, for tests to copy."""
    deployment = Deployment(tmp_path_factory.mktemp("begun") / "store")
    deployment.writing(RuleModel()).invoke({"request": first}, {"configurable": {"thread_id": "first"}})
    deployment.close()
    return deployment.folder


@pytest.fixture(scope="session")
def copy_of(begun: Path) -> Callable[[Path], Deployment]:
    """Return a function that opens a copy of that folder."""
    return lambda folder: Deployment(copytree(begun, folder))


@pytest.fixture
def cut_off(copy_of: Callable[[Path], Deployment], tmp_path: Path) -> Iterator[Deployment]:
    """A deployment with the first conversation, where a run will be cut off."""
    deployment = copy_of(tmp_path / "cut")
    yield deployment
    deployment.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Deployment]:
    """An empty deployment."""
    deployment = Deployment(tmp_path / "empty")
    yield deployment
    deployment.close()


def counts(result: Any) -> dict[str, object]:
    """Return a function that dumps a receipt or a recollection without the seconds it took."""
    totals: dict[str, object] = result.model_dump(exclude={"usage": {"seconds", "by_node"}})
    ledger = [entry.model_dump(exclude={"seconds"}) for entry in result.usage.by_node]
    return {**totals, "ledger": sorted(ledger, key=str)}
