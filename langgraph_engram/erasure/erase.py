"""Forget: select what is erased, delete it from checkpoints and store, and verify that nothing is left.

An erasure is announced by a pending task. One that is cut off is completed by repeating it, or by `finish`: checkpoints
are deleted first, and what the selection depends on is deleted from the store last. A thread is a history and is
deleted whole: the turns of an unfinished run are in the store as pending tasks.
"""

import json
import logging
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_engram.erasure.selection import Cleanup, Erased, StoredScope, Target, select_erased
from langgraph_engram.errors import InvalidInput
from langgraph_engram.pending import FORGET, RECEIVE, is_unreceived, tasks_of_runs
from langgraph_engram.results import ErasureReceipt
from langgraph_engram.runner import delete_threads, threads_of
from langgraph_engram.schema import PendingTask, Scope, Turn, make_id
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.rows import values_in

V = TypeVar("V")

LOG = logging.getLogger(__name__)
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MIN_CHARACTERS = 12
"""Characters from which a text is searched for inside of others; a shorter one is found only by itself."""
MAX_SAMPLES = 20
"""Texts that files are searched for, the longest: each costs a pass over all files."""
BLOCK_BYTES = 1 << 20
"""Bytes of a file that are searched at once."""
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


@dataclass(frozen=True)
class Eraser:
    """Erase memories from a store and its checkpoints."""

    store: Store
    checkpointer: BaseCheckpointSaver[str] | None

    def forget(self, scope: Scope, target: Target) -> ErasureReceipt:
        """Erase the target, after the current runs of the scope, and announce it first, for `finish`."""
        with self.store.writing(scope), self.store.committing(scope):
            tasks, index = self.store.pending_tasks(scope), self.store.index(scope)
            stored = StoredScope(index, self.store.decisions(scope), tasks_of_runs(tasks))
            announced = [task for task in tasks if task.step == FORGET]
            try:
                target = target.of_whole_id(index)
                erased = select_erased(stored, target)
            except InvalidInput:  # an erasure that was cut off may have left something of a target that is gone
                if finished := _finished(announced, index, Erased()):
                    self.store.commit(scope, Changes(completed=finished))
                self.store.secure_delete(scope)
                raise
            if task := _announcement(target, erased):
                self.store.commit(scope, Changes(pending_tasks=[task]))
                announced.append(task)
            marks = _marks_of(stored, erased)
            searched = None if target.is_everything else marks
            threads = self._threads_with(scope, searched)
            runs = delete_threads(self.checkpointer, threads) if self.checkpointer else 0
            changes = _changes(stored, erased, target, threads)
            finished = _finished(announced, index, erased)
            self.store.commit(scope, replace(changes, completed=[*changes.completed, *finished]))
            residue = self._residue(scope, marks, searched)
            residue += [
                f"words that another checkpoint may hold: {task.reason}"
                for task in erased.pending_tasks
                if is_unreceived(task, index) and task.run_id not in threads
            ]
        return ErasureReceipt(
            scope=scope,
            session_id=target.session_id,
            turn_id=target.turn_id,
            record_id=target.record_id,
            **{name: len(ids) for name, ids in erased.ids().items()},
            runs=runs,
            changed=len(changes.events) + len(changes.boundaries) + len(changes.changed),
            pending=len({turn_id for task in changes.pending_tasks for turn_id in task.turn_ids}),
            residue=residue,
        )

    def finish(self, scope: Scope) -> None:
        """Finish the erasures of a scope that were announced and cut off."""
        for task in self.store.pending_tasks(scope):
            if task.step == FORGET:
                left = frozenset(task.turn_ids) if task.record_id is None else None
                with suppress(InvalidInput):
                    receipt = self.forget(scope, Target(record_id=task.record_id, left=left))
                    LOG.info("what was being forgotten is: %d turns, %d records", receipt.turns, receipt.records)
                    for where in receipt.residue:
                        LOG.warning("what was being forgotten is still found: %s", where)

    def _threads_with(self, scope: Scope, marks: ErasureMarks | None) -> list[str]:
        """Return the threads of a scope that hold any of the marks; all of them for None."""
        if (saver := self.checkpointer) is None:
            return []
        threads = threads_of(saver, scope)
        return [thread for thread in threads if marks is None or marks.occur_in(_values_in(saver, thread, str))]

    def _residue(self, scope: Scope, marks: ErasureMarks, searched: ErasureMarks | None) -> list[str]:
        """Return where traces are left in store, checkpoints and files: marks, or anything where None is searched."""
        rows = self.store.rows(scope)
        kinds = Counter(kind for kind, texts in rows if searched is None or searched.occur_within(texts))
        residue = [f"{kind}: {count} in the store" for kind, count in kinds.items()]
        if threads := self._threads_with(scope, searched):
            residue.append(f"checkpoints: {len(threads)} threads")
        files = sorted({path.resolve() for path in (*self.store.secure_delete(scope), *_files_of(self.checkpointer))})
        longest = sorted(marks.distinctive, key=len, reverse=True)[:MAX_SAMPLES] if files else []
        samples = [text for text in longest if not self.store.contains_text(text)]  # which no other memory has
        return residue + [f"file: {path}" for path in _files_with(files, samples)]


def _changes(stored: StoredScope, erased: Erased, target: Target, threads: Sequence[str]) -> Changes:
    if target.is_everything:
        return Changes(removed=erased.ids())
    cleanup = Cleanup(stored, erased, str(uuid4()))
    events, restored = cleanup.events(), cleanup.records()
    without_run = [task for task in stored.pending_tasks if task.awaits_approval and task.run_id in threads]
    return Changes(
        turns=cleanup.turns(),
        events=events,
        boundaries=cleanup.boundaries(events),
        pending_tasks=cleanup.pending_tasks(restored),
        changed=restored,
        completed=[task.pending_id for task in without_run],
        removed=erased.ids(),
    )


def _announcement(target: Target, erased: Erased) -> PendingTask | None:
    """Return the task to erase something; none where no turn and no record is. Of turns it holds the ids alone."""
    unreceived = {turn_id for task in erased.pending_tasks if task.step == RECEIVE for turn_id in task.turn_ids}
    turn_ids = sorted(erased.turn_ids | unreceived)
    if not turn_ids and target.record_id is None:
        return None
    return PendingTask(
        pending_id=make_id(FORGET, target.record_id or "", *turn_ids),
        run_id="",
        session_id=target.session_id or "",
        turn_ids=turn_ids,
        step=FORGET,
        reason="it was announced, and did not reach its end",
        since=datetime.now(UTC),
        record_id=target.record_id,
    )


def _finished(announced: Iterable[PendingTask], index: ScopeIndex, erased: Erased) -> list[str]:
    """Return the ids of the announced tasks of which nothing is left once something is erased."""
    return [
        pending_id
        for pending_id, task in {task.pending_id: task for task in announced}.items()
        if (task.record_id is None or task.record_id in erased.record_ids or task.record_id not in index.records)
        and all(turn_id in erased.turn_ids or turn_id not in index.turns for turn_id in task.turn_ids)
    ]


def _marks_of(stored: StoredScope, erased: Erased) -> ErasureMarks:
    """Return what to search for: the ids of what is erased, and its texts that nothing left contains."""
    ids = frozenset(item_id for of_kind in erased.ids().values() for item_id in of_kind)
    unreceived = frozenset(task.run_id for task in erased.pending_tasks if task.step == RECEIVE)
    turns = [turn.indexed_text for turn in stored.index.turns.items if turn.turn_id not in ids]
    records = [record.content for record in stored.index.records.items if record.record_id not in ids]
    left = "\0".join([*turns, *records])
    return ErasureMarks(ids | unreceived, frozenset(text for text in erased.texts() if text not in left))


def turns_of(checkpointer: BaseCheckpointSaver[str], thread: str) -> Iterator[str]:
    """Return the ids of the turns in the checkpoints and pending writes of a thread."""
    return (turn.turn_id for turn in _values_in(checkpointer, thread, Turn))


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


def _files_of(checkpointer: BaseCheckpointSaver[str] | None) -> list[Path]:
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
        with path.open("rb") as file:  # not mapped: it may be cut while it is read, and that would kill the process
            blocks = iter(partial(file.read, BLOCK_BYTES), b"")
            if any(sample in block for block in _overlapping(blocks) for sample in samples):
                yield path


def _overlapping(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each block behind the end of the one before it, so that no sample is cut in two."""
    end = b""
    for block in blocks:
        yield end + block
        end = (end + block)[-SAMPLE_BYTES:]


def _values_in(checkpointer: BaseCheckpointSaver[str], thread: str, kind: type[V]) -> Iterator[V]:
    """Yield the values of a type in the checkpoints and pending writes of a thread, subgraphs included."""
    for saved in checkpointer.list({"configurable": {"thread_id": thread}}):
        values = [saved.checkpoint["channel_values"], *(value for _, _, value in saved.pending_writes or ())]
        yield from (value for value in values_in(values) if isinstance(value, kind))
