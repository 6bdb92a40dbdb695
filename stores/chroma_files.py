"""Look after Chroma's own files in a folder: overwrite what was removed, and drop what is cut off.

Chroma removes a row without overwriting it, and keeps what was written last in a log (docs/decisions/0023). So the log
loses all but the newest entry of each row of ours, the full-text index its removed terms, the file its free pages.
Slots of a vector index that were never taken hold whatever was in the memory of the process: they are overwritten after
each write. A file says whose rows are being removed, so that the next opening does what a process that died did not.
"""

import logging
import os
import pickletools
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import cast
from weakref import WeakValueDictionary

from langgraph_engram.stores.locks import DATABASE
from langgraph_engram.stores.rows import ITEMS_PREFIX, MEMORIES, PREFIX

log = logging.getLogger(__name__)

WAIT_SECONDS = 10.0
"""How long to wait for a reader of the database to finish."""
REMOVE_OUTDATED = """
    DELETE FROM embeddings_queue WHERE id LIKE ? AND seq_id NOT IN
    (SELECT max(seq_id) FROM embeddings_queue WHERE id LIKE ? GROUP BY topic, id)
"""
"""Removes the log entries that a later one of the same row replaces: each of ours is a whole row, or its removal."""
MERGE_TERMS = "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('optimize')"

UNFINISHED = ".engram.erasing-"
"""How a file is called that says whose removed rows are not overwritten yet; the prefix of their ids follows."""
HEADER = struct.Struct("<iQQQQ")
"""How the header of a vector index begins: version, an offset, slots in all, slots taken, bytes of a slot."""
HEADER_BYTES = 100
"""How long the header is."""
INDEX_HEADER = "header.bin"
LISTED = "total_elements_added"
"""What the list of a vector index calls how many slots were taken when it was written."""
INTEGERS = frozenset({"BININT", "BININT1", "BININT2", "LONG1"})
"""The operations of a pickle that hold a whole number."""

WITHOUT_INDEX = ".engram.without-index"
"""The file that says that vectors of memories were lost with an index."""
INDEXES = """
    SELECT segments.id, collections.name FROM segments JOIN collections ON segments.collection = collections.id
    WHERE segments.scope = 'VECTOR'
"""


class ChromaWrites:
    """The writes of Chroma, one at a time, each followed by a blanking of what it left of the process's memory."""

    def __init__(self, folder: Path | None) -> None:
        """Take the folder that Chroma writes to, if it does so in this process."""
        self.folder, self.lock = folder, RLock()
        self._blanked: dict[Path, int] = {}
        """When the vector indexes whose free slots are blanked were written, by the paths of their headers."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold off every other write; blank new slots at the end."""
        with self.lock:
            try:
                yield
            finally:
                self.blank_new_slots()

    def blank_new_slots(self) -> None:
        """Blank the free slots of the vector indexes that were written since this was called last."""
        for header in self.folder.glob(f"*/{INDEX_HEADER}") if self.folder else ():
            with suppress(OSError):  # what cannot be written holds what it held
                written = header.stat().st_mtime_ns
                if self._blanked.get(header) != written:
                    blank_free_slots(header)
                    self._blanked[header] = written


_WRITES: WeakValueDictionary[Path, ChromaWrites] = WeakValueDictionary()


def writes_to(folder: Path | None) -> ChromaWrites:
    """Return the writes to a folder, the same for all of its parts; those of a store without a folder are its own."""
    return _WRITES.setdefault(folder, ChromaWrites(folder)) if folder else ChromaWrites(None)


def announce_removal(folder: Path, prefix: str) -> None:
    """Have removed rows overwritten at the next opening of a folder, unless `secure_delete` did so before."""
    with suppress(OSError):  # where no file can be made, the removal says so
        (folder / f"{UNFINISHED}{prefix.removesuffix(':')}").touch()


def finish_removals(folder: Path) -> None:
    """Overwrite the removed rows that a process which died has left. Call it before the folder is opened."""
    for path in folder.glob(f"{UNFINISHED}*"):
        secure_delete(folder, f"{path.name.removeprefix(UNFINISHED)}:")


def secure_delete(folder: Path, prefix: str) -> bool:
    """Overwrite what the files of an embedded store hold of removed rows."""
    for header in folder.glob(f"*/{INDEX_HEADER}"):
        blank_free_slots(header)
    try:
        with closing(sqlite3.connect(folder / DATABASE, timeout=WAIT_SECONDS, isolation_level=None)) as database:
            database.execute("PRAGMA secure_delete=ON")
            database.execute(REMOVE_OUTDATED, (f"{prefix}%", f"{prefix}%"))
            database.execute(MERGE_TERMS)
            database.execute("VACUUM")
    except sqlite3.Error as error:
        log.warning("removed rows could not be overwritten in the database in %s: %s", folder, error)
        return False
    (folder / f"{UNFINISHED}{prefix.removesuffix(':')}").unlink(missing_ok=True)
    return True


def blank_free_slots(header: Path) -> None:
    """Write zeros over the slots of a vector index that were never taken; any other file is left alone."""
    for path, slots, taken, size in _files_of_slots(header.read_bytes(), header):
        if taken < slots and path.stat().st_size == slots * size:
            with path.open("r+b") as file:
                file.seek(taken * size)
                file.write(bytes((slots - taken) * size))


def _files_of_slots(start: bytes, header: Path) -> Iterator[tuple[Path, int, int, int]]:
    """Yield the files that hold the slots of a vector index: how many, how many taken, and the bytes of each."""
    version, _, slots, taken, slot_bytes = HEADER.unpack(start[: HEADER.size].ljust(HEADER.size, b"\0"))
    for name, size in (("data_level0.bin", slot_bytes), ("length.bin", 4)):
        path = header.with_name(name)
        if version == 1 and path.exists():
            yield path, slots, taken, size


def discard_cut_off_indexes(folder: Path) -> None:
    """Remove the vector indexes of ours that a process died over as Chroma wrote them; nothing could be read with one.

    Chroma writes the list of an index over the old one, in place and last; files of it that are shortened end the
    process, and newer than the list they refuse what is written next.
    Vectors of memories were in the index alone, and a file says that they are to be made anew; those of items are in
    their rows. Call it before the folder is opened.
    """
    database = folder / DATABASE
    cut_off = [path.parent for path in folder.glob("*/index_metadata.pickle") if _is_cut_off(path)]
    if not cut_off or not database.exists():
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as opened:  # Chroma says what is wrong with that
        names: dict[str, str] = dict(opened.execute(INDEXES))
        for index in cut_off:
            name = names.get(index.name, "")
            if name.startswith(PREFIX) and name.endswith(MEMORIES):
                (folder / WITHOUT_INDEX).touch()
            elif not name.startswith(ITEMS_PREFIX):
                continue
            shutil.rmtree(index)


def _is_cut_off(listed: Path) -> bool:
    """Return whether the list, header or slots of a vector index lack what they end with, or are of different times.

    Slots that only lost their rows since are as many as before, and not told apart.
    """
    with listed.open("rb") as file:
        file.seek(-min(1, listed.stat().st_size), os.SEEK_END)
        ends = file.read(1) == b"."  # as a pickle does
    header = listed.with_name(INDEX_HEADER)
    start = header.read_bytes() if header.exists() else bytes(HEADER_BYTES)
    files = [*_files_of_slots(start, header)]
    is_whole = len(start) >= HEADER_BYTES and all(path.stat().st_size >= taken * size for path, _, taken, size in files)
    count = _listed(listed)
    return not (ends and is_whole) or any(count not in (None, taken) for _, _, taken, _ in files)


def _listed(listed: Path) -> int | None:
    """Return how many slots of a vector index were taken when its list was written; None where it does not say so."""
    with listed.open("rb") as file, suppress(ValueError):
        operations = pickletools.genops(file)
        if any(value == LISTED for _, value, _ in operations):
            return next((cast("int", value) for operation, value, _ in operations if operation.name in INTEGERS), None)
    return None
