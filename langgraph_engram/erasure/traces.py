"""Find the runs of a scope whose checkpoints hold what is forgotten, and take their threads away.

A thread is a history: it goes whole. Nothing that is kept is lost with it, for the turns of a run that had not ended
stand in the store, pending. This module does not know what is forgotten but by its ids and texts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel

from langgraph_engram.runs.run_threads import threads_of
from langgraph_engram.schema import Scope

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LEAST_TELLING = 12
"""Characters from which a text is looked for inside of others; a shorter one is found where it stands alone."""


@dataclass(frozen=True)
class Marks:
    """What is looked for."""

    ids: frozenset[str]
    texts: frozenset[str]

    @cached_property
    def telling(self) -> list[str]:
        """Give the texts that are looked for inside of others."""
        return sorted(one for one in self.texts if len(one) >= LEAST_TELLING)

    def lie_in(self, strings: Iterable[str]) -> bool:
        """Say whether an id or a telling text stands anywhere within strings."""
        joined = "\0".join(set(strings))
        return not self.ids.isdisjoint(ID.findall(joined)) or any(text in joined for text in self.telling)

    def stand_in(self, strings: Iterable[str]) -> bool:
        """Say the same, or whether a short text is one of the strings: an "ok" that may be another's."""
        each = set(strings)
        return not each.isdisjoint(self.texts) or self.lie_in(each)


def threads_with(checkpointer: BaseCheckpointSaver[str], scope: Scope, marks: Marks | None) -> list[str]:
    """Give the threads of a scope that hold any of the marks; all of them where there are none."""
    threads = threads_of(checkpointer, scope)
    return threads if marks is None else [one for one in threads if marks.stand_in(_strings_in(checkpointer, one))]


def delete_threads(checkpointer: BaseCheckpointSaver[str], threads: Sequence[str]) -> int:
    """Take threads away; with SQLite also from the log that it writes ahead.

    Returns:
        How many went: none where the checkpointer has no way to delete, and then they are found as residue.
    """
    try:
        for thread in threads:
            checkpointer.delete_thread(thread)
    except NotImplementedError:
        return 0
    if isinstance(checkpointer, SqliteSaver):
        with checkpointer.lock:
            checkpointer.conn.commit()
            checkpointer.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return len(threads)


def files_of(checkpointer: BaseCheckpointSaver[str]) -> list[Path]:
    """Give the files of a SQLite checkpointer, its log included; none of any other."""
    if not isinstance(checkpointer, SqliteSaver):
        return []
    names = [name for _, _, name in checkpointer.conn.execute("PRAGMA database_list") if name]
    return [path for name in names for path in (Path(name), Path(f"{name}-wal")) if path.exists()]


def _strings_in(checkpointer: BaseCheckpointSaver[str], thread: str) -> Iterator[str]:
    """Give every text in the checkpoints and the writes of a thread, subgraphs included."""
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    for one in checkpointer.list(config):
        yield from strings_of(one.checkpoint["channel_values"])
        yield from strings_of([value for _, _, value in one.pending_writes or ()])


def strings_of(value: object) -> Iterator[str]:
    """Give every text within a value of a state: of models, dataclasses, mappings and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        yield from strings_of(value.__dict__)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from strings_of([getattr(value, name) for name in value.__dataclass_fields__])
    elif isinstance(value, Mapping):
        yield from strings_of(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from strings_of(one)
