"""Delete the checkpoints that hold erased memories, and verify that neither store, checkpoints nor files still do.

A thread is a history and is deleted whole. Nothing else is lost: the turns of an unfinished run are in the store as
pending tasks.
"""

import json
import mmap
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel

from langgraph_engram.runner import threads_of
from langgraph_engram.schema import Scope, Turn
from langgraph_engram.stores.base import Row, Store

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MIN_CHARACTERS = 12
"""Characters from which a text is searched for inside of others; a shorter one is found only by itself."""
MAX_SAMPLES = 20
"""Texts that files are searched for, the longest: each costs a pass over all files."""
SAMPLE_BYTES = 80
"""Bytes of such a text that are searched for: a database may store the rest of a long one elsewhere."""


@dataclass(frozen=True)
class ErasureMarks:
    """The ids and texts of what was erased."""

    ids: frozenset[str]
    texts: frozenset[str]

    @cached_property
    def distinctive(self) -> list[str]:
        """Return the texts that are long enough to be searched for inside of others."""
        return sorted(text for text in self.texts if len(text) >= MIN_CHARACTERS)

    def occur_within(self, strings: Iterable[str]) -> bool:
        """Return whether an id or a distinctive text occurs within strings."""
        joined = "\0".join(set(strings))
        return not self.ids.isdisjoint(ID.findall(joined)) or any(text in joined for text in self.distinctive)

    def occur_in(self, strings: Iterable[str]) -> bool:
        """Return whether they occur within strings, or a short text is one of the strings: an "ok" of any run."""
        distinct = set(strings)
        return not distinct.isdisjoint(self.texts) or self.occur_within(distinct)


def threads_with(checkpointer: BaseCheckpointSaver[str], scope: Scope, marks: ErasureMarks | None) -> list[str]:
    """Return the threads of a scope that hold any of the marks; all of them for None."""
    threads = threads_of(checkpointer, scope)
    if marks is None:
        return threads
    return [thread for thread in threads if marks.occur_in(_strings_in(checkpointer, thread))]


def turns_of(checkpointer: BaseCheckpointSaver[str], thread: str) -> Iterator[str]:
    """Yield the ids of the turns in the checkpoints and pending writes of a thread."""
    yield from (value.turn_id for value in _values_in(checkpointer, thread) if isinstance(value, Turn))


def damaged_files(checkpointer: BaseCheckpointSaver[str]) -> list[str]:
    """Return the names of the files of a SQLite checkpointer if SQLite finds them damaged; none of any other."""
    if not isinstance(checkpointer, SqliteSaver):
        return []
    with checkpointer.lock:
        try:
            sound = checkpointer.conn.execute("PRAGMA quick_check").fetchone() == ("ok",)
        except sqlite3.DatabaseError:
            sound = False
    return [] if sound else [path.name for path in _files_of(checkpointer)]


@dataclass(frozen=True)
class Residue:
    """Search a store and its checkpoints for traces of what was erased."""

    store: Store
    checkpointer: BaseCheckpointSaver[str] | None

    def find(self, scope: Scope, marks: ErasureMarks, *, of_everything: bool) -> list[str]:
        """Return where traces are left; an empty list if there are none."""
        residue = [f"{kind}: {count} in the store" for kind, count in self._rows(scope, marks, of_everything).items()]
        searched = None if of_everything else marks
        if self.checkpointer and (threads := threads_with(self.checkpointer, scope, searched)):
            residue.append(f"checkpoints: {len(threads)} threads")
        checkpoint_files = _files_of(self.checkpointer) if self.checkpointer else []
        files = sorted({path.resolve() for path in (*self.store.secure_delete(scope), *checkpoint_files)})
        samples = self._samples(marks) if files else ()
        return residue + [f"file: {path}" for path in _files_with(files, samples)]

    def _rows(self, scope: Scope, marks: ErasureMarks, of_everything: bool) -> dict[str, int]:
        """Count the rows that hold marks, or all rows if everything was erased, by kind."""
        rows: dict[str, list[Row]] = {}
        for row in self.store.rows(scope):
            rows.setdefault(row.kind, []).append(row)
        if of_everything:
            return {kind: len(of_kind) for kind, of_kind in rows.items()}
        # All rows of a kind are searched at once; each by itself only where that found something.
        suspects = [
            kind for kind, of_kind in rows.items() if marks.occur_within(text for row in of_kind for text in row.texts)
        ]
        return {kind: sum(marks.occur_within(row.texts) for row in rows[kind]) for kind in suspects}

    def _samples(self, marks: ErasureMarks) -> list[str]:
        """Return the longest texts that no other memory contains."""
        longest = sorted(marks.texts, key=lambda text: (-len(text), text))[:MAX_SAMPLES]
        return [text for text in longest if len(text) >= MIN_CHARACTERS and not self.store.contains_text(text)]


def _files_of(checkpointer: BaseCheckpointSaver[str]) -> list[Path]:
    """Return the files of a SQLite checkpointer, its write-ahead log included; none of any other."""
    if not isinstance(checkpointer, SqliteSaver):
        return []
    names = [name for _, _, name in checkpointer.conn.execute("PRAGMA database_list") if name]
    return [path for name in names for path in (Path(name), Path(f"{name}-wal")) if path.exists()]


def _files_with(files: Iterable[Path], texts: Sequence[str]) -> Iterator[Path]:
    """Yield the files that contain the beginning of a text, as it is or as JSON encodes it, in ASCII or not."""
    encoded = (json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in texts for is_ascii in (True, False))
    samples = {form.encode()[:SAMPLE_BYTES] for form in (*texts, *encoded)}
    for path in files if samples else ():
        if path.stat().st_size:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if any(content.find(sample) >= 0 for sample in samples):
                    yield path


def _strings_in(checkpointer: BaseCheckpointSaver[str], thread: str) -> Iterator[str]:
    """Yield every string in the checkpoints and pending writes of a thread, subgraphs included."""
    yield from (value for value in _values_in(checkpointer, thread) if isinstance(value, str))


def _values_in(checkpointer: BaseCheckpointSaver[str], thread: str) -> Iterator[object]:
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    for saved in checkpointer.list(config):
        yield from _values_of(saved.checkpoint["channel_values"])
        yield from _values_of([value for _, _, value in saved.pending_writes or ()])


def _values_of(value: object) -> Iterator[object]:
    """Yield a value of a state and every value within it: of models, dataclasses, mappings and lists."""
    yield value
    if isinstance(value, BaseModel):
        yield from _values_of(value.__dict__)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _values_of([getattr(value, name) for name in value.__dataclass_fields__])
    elif isinstance(value, Mapping):
        yield from _values_of(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _values_of(item)
