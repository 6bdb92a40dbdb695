"""Find the runs of a scope whose checkpoints hold what is forgotten, and take their threads away.

A thread is a history: it goes whole. Nothing that is kept is lost with it, for the turns of a run that had not ended
stand in the store, pending. This module does not know what is forgotten but by its ids and texts.
"""

import json
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel

from langgraph_engram.runner import threads_of
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import Row, Store

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LEAST_TELLING = 12
"""Characters from which a text is looked for inside of others; a shorter one is found where it stands alone."""


@dataclass(frozen=True)
class ErasureMarks:
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


def threads_with(checkpointer: BaseCheckpointSaver[str], scope: Scope, marks: ErasureMarks | None) -> list[str]:
    """Give the threads of a scope that hold any of the marks; all of them where there are none."""
    threads = threads_of(checkpointer, scope)
    return threads if marks is None else [one for one in threads if marks.stand_in(_strings_in(checkpointer, one))]


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


SAMPLES = 20
"""Texts that files are searched for, the longest: each costs a reading of all files."""
SAMPLE_BYTES = 80
"""Bytes of such a text that are looked for: a database may keep the rest of a long one elsewhere."""


@dataclass(frozen=True)
class Residue:
    """Look through a store and its checkpoints."""

    store: Store
    checkpointer: BaseCheckpointSaver[str] | None

    def left(self, scope: Scope, marks: ErasureMarks, *, of_everything: bool) -> list[str]:
        """Say where anything of what was forgotten is left; nothing where it is not.

        Args:
            scope: Whose memories were forgotten.
            marks: The ids and texts of what was.
            of_everything: Whether all of the scope was, so that anything at all under it is too much.
        """
        left = [f"{kind}: {count} in the store" for kind, count in self._rows(scope, marks, of_everything).items()]
        wanted = None if of_everything else marks
        if self.checkpointer and (threads := threads_with(self.checkpointer, scope, wanted)):
            left.append(f"checkpoints: {len(threads)} threads")
        runs = files_of(self.checkpointer) if self.checkpointer else []
        files = sorted({one.resolve() for one in (*self.store.secure_delete(scope), *runs)})
        return left + [f"file: {one.name}" for one in files_with(files, self._only_there(marks) if files else ())]

    def _rows(self, scope: Scope, marks: ErasureMarks, of_everything: bool) -> dict[str, int]:
        """Count the rows that should be gone or hold what should be, by kind; rows are read where a kind has any."""
        rows: dict[str, list[Row]] = {}
        for row in self.store.rows(scope):
            rows.setdefault(row.kind, []).append(row)
        if of_everything:
            return {kind: len(each) for kind, each in rows.items()}
        suspected = [kind for kind, each in rows.items() if marks.lie_in(text for row in each for text in row.texts)]
        return {kind: sum(marks.lie_in(row.texts) for row in rows[kind]) for kind in suspected}

    def _only_there(self, marks: ErasureMarks) -> list[str]:
        """Give the longest texts that nobody else's memories say, as samples."""
        longest = sorted(marks.texts, key=lambda text: (-len(text), text))[:SAMPLES]
        return [text for text in longest if len(text) >= LEAST_TELLING and not self.store.contains_text(text)]


def files_with(files: Iterable[Path], texts: Sequence[str]) -> Iterator[Path]:
    """Give the files in which the beginning of a text stands, as it is or as JSON writes it."""
    samples = {one.encode()[:SAMPLE_BYTES] for text in texts for one in (text, json.dumps(text)[1:-1])}
    for path in files if samples else ():
        if path.stat().st_size:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if any(content.find(sample) >= 0 for sample in samples):
                    yield path
