"""What holds for all tests: no example of a property is judged by its time, which is the machine's and not ours."""

import gc
import json
import os
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from shutil import disk_usage
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from xdist.scheduler.loadfile import LoadFileScheduling

from langgraph_engram.alignment import share_runs
from langgraph_engram.embeddings import minilm as backend
from langgraph_engram.embeddings.base import CachingEncoder, HashingEncoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.llm.base import Question
from langgraph_engram.memory import Memory
from langgraph_engram.papers.structmem import WindowScheduler
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.schema import Event, Evidence, Intent, Record, Scope, Turn
from langgraph_engram.state import Message, RecallRequest, RememberRequest
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.folders import open_store

gc.disable()  # until all is collected: what is imported lives on
settings.register_profile("engram", deadline=None)
settings.load_profile("engram")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of torch: the processes of a run are as many as the cores
backend._open_network = cache(backend._open_network)  # each memory would load the weights: 0.2 s
ssl.create_default_context = cache(ssl.create_default_context)  # each client would read all certificates: 20 ms

IN_MEMORY = Path("/dev/shm")
"""Where Linux has files in memory: on a disk every commit is waited for."""
if os.access(IN_MEMORY, os.W_OK) and disk_usage(IN_MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

SCHEDULER = "langgraph_engram.graphs.write.Scheduler"
CHOOSER = "langgraph_engram.graphs.write.Chooser.of"
SERVERS = "tests/server/"
SHARED_TOKENS = 1200
"""Tokens of short sessions that share a run where a model writes."""
NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)


def pytest_collection_finish() -> None:
    """Leave what is imported by now out of every later garbage collection."""
    gc.freeze()
    gc.enable()


class ServersOnce(LoadFileScheduling):
    """Each file to one process, and all that ask the servers of tests/server to the same."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        return SERVERS if scope.startswith(SERVERS) else scope


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ServersOnce | None:
    return ServersOnce(config, log) if config.getvalue("dist") == "loadfile" else None


def by_rule(question: Question[Any]) -> Any:
    """Answer as the rules do: a `FakeModel` with this answer remembers what it was asked."""
    return RULES[type(question)](question)


def make_turn(seq: int, text: str = "I went camping by the lake.", **fields: object) -> Turn:
    """Make a turn of session s1, a minute a turn from noon on 8 May 2023."""
    known = {"turn_id": f"t{seq}", "session_id": "s1", "role": "user", "speaker": "Ana"}
    return Turn.model_validate({**known, "seq": seq, "text": text, "said_at": NOON + timedelta(minutes=seq), **fields})


def make_record(seq: int, content: str = "Ana went camping by the lake.", **fields: object) -> Record:
    """Make a record of session s1 and event e0, drawn from the turn of its number."""
    known = {"record_id": f"r{seq}", "session_id": "s1", "event_id": "e0", "source_turn_ids": [f"t{seq}"]}
    told = {"memory_type": "fact", "speaker": "Ana", "mentioned_at": NOON + timedelta(minutes=seq)}
    return Record.model_validate({**known, **told, "seq": seq, "content": content, **fields})


def make_event(seq: int, *turns: int, **fields: object) -> Event:
    """Make an event of session s1 that holds the turns of these numbers."""
    ids = [f"t{seq}" for seq in turns]
    known = {"event_id": f"e{seq}", "session_id": "s1", "seq": seq, "kind": "event", "turn_ids": ids}
    return Event.model_validate({**known, **fields})


@pytest.fixture
def turn() -> Callable[..., Turn]:
    return make_turn


@pytest.fixture
def record() -> Callable[..., Record]:
    return make_record


@pytest.fixture
def event() -> Callable[..., Event]:
    return make_event


@pytest.fixture(scope="session")
def minilm() -> CachingEncoder:
    """The encoder in whose space the shipped weights were learned."""
    return open_encoder(None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a store, which is not there yet."""
    return tmp_path / "store"


@pytest.fixture
def store() -> Iterator[Store]:
    opened = open_store("memory:", HashingEncoder())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    """A memory by rules that the tests of a file share; each takes a user of its own."""
    with Memory("memory:", "rules", encoder="hashing") as opened:
        yield opened


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    """A user that no other test of the file has."""
    return str(request.node.name)


@pytest.fixture
def scope() -> Scope:
    """A scope that no other test has."""
    return Scope(user_id=uuid4().hex)


@pytest.fixture(scope="module")
def syntheses_at_once() -> Iterator[None]:
    """Have each session that ends told by a synthesis, however short it is and whoever writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENGRAM_SETTINGS", json.dumps({"synthesis": {"window_seconds": 80_000}}))
        patch.setattr(SCHEDULER, lambda settings, **_: WindowScheduler(settings))
        yield


@pytest.fixture(scope="module")
def model_writes_all() -> Iterator[None]:
    """Have the model write records and decide, as papers have it, in the steps of the default preset."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CHOOSER, lambda *_: None)
        patch.setattr("langgraph_engram.runner.share_runs", lambda requests, _: share_runs(requests, SHARED_TOKENS))
        patch.setattr(
            "langgraph_engram.memory.build_write_graph",
            lambda store, model, _, settings: build_write_graph(store, model, model, settings),
        )
        yield


@pytest.fixture
def keep(store: Store, scope: Scope) -> Callable[..., None]:
    """Commit things to the scope."""

    def commit(**things: object) -> None:
        store.commit(scope, Changes(**things))

    return commit


@pytest.fixture
def to_remember(scope: Scope) -> Callable[..., RememberRequest]:
    """Ask to remember texts or messages in session s1, each time under a run id of its own."""
    numbers = count()

    def make(*said: str | Message, **fields: object) -> RememberRequest:
        messages = [Message(speaker="Ana", text=item, said_at=NOON) if isinstance(item, str) else item for item in said]
        known = {"user_id": scope.user_id, "session_id": "s1", "run_id": f"run{next(numbers)}", "messages": messages}
        return RememberRequest.model_validate({**known, **fields})

    return make


@pytest.fixture
def to_recall(scope: Scope) -> Callable[..., RecallRequest]:
    """Ask a question of the scope's memory."""

    def make(query: str = "Where did Ana camp?", **fields: object) -> RecallRequest:
        return RecallRequest.model_validate({"query": query, "user_id": scope.user_id, "run_id": "run", **fields})

    return make


@pytest.fixture
def intent() -> Callable[..., Intent]:
    """Make an intent whose anchor is its query."""

    def make(query: str = "Where did Ana camp?", **fields: object) -> Intent:
        return Intent.model_validate({"query": query, "anchor": query, **fields})

    return make


@pytest.fixture
def passage() -> Callable[..., Evidence]:
    """Make a passage of evidence."""

    def make(name: str, text: str = "Ana camped by the lake.", **fields: object) -> Evidence:
        return Evidence.model_validate({"evidence_id": name, "text": text, **fields})

    return make
