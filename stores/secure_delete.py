"""Overwrite what Chroma's own files still hold of removed rows (docs/decisions/0020).

Chroma removes a row without overwriting it, and keeps what was written last in a log beside it, removed or not. So the
log loses all but the newest entry of each row of ours, the full-text index its removed terms, and the file its free
pages. A vector index that was never written begins with whatever was in the memory of the process, and that is
overwritten. Vectors in an index that was written are numbers in removed slots by then; they stay until Chroma writes
the index anew.
"""

import logging
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

log = logging.getLogger(__name__)

DATABASE = "chroma.sqlite3"
WAIT_SECONDS = 10.0
"""How long to wait for a reader of the database to finish."""
REMOVE_OUTDATED = """
    DELETE FROM embeddings_queue WHERE id LIKE ? AND seq_id NOT IN
    (SELECT max(seq_id) FROM embeddings_queue WHERE id LIKE ? GROUP BY topic, id)
"""
"""Removes the log entries that a later one of the same row replaces: each of ours is a whole row, or its removal."""
MERGE_TERMS = "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('optimize')"

HEADER = struct.Struct("<iQQQQ")
"""How the header of a vector index begins: version, an offset, slots in all, slots taken, bytes of a slot."""
LENGTH_BYTES = 4
"""Bytes in which an index keeps the length of a vector, beside its slots."""


def secure_delete(folder: Path, prefix: str) -> bool:
    """Overwrite what the files of an embedded store hold of removed rows.

    Args:
        folder: The store's folder. No write of Chroma's may be under way in this process.
        prefix: What the ids of the rows begin with.

    Returns:
        Whether it succeeded: another version of Chroma, or a long read, may stand in the way.
    """
    for header in folder.glob("*/header.bin"):
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
    return True


def blank_free_slots(header: Path) -> None:
    """Write zeros over the slots of a vector index that were never taken; any other file is left alone."""
    start = header.read_bytes()[: HEADER.size]
    if len(start) < HEADER.size:
        return
    version, _, slots, taken, slot_bytes = HEADER.unpack(start)
    for name, size in (("data_level0.bin", slot_bytes), ("length.bin", LENGTH_BYTES)):
        path = header.with_name(name)
        if version == 1 and taken < slots and path.exists() and path.stat().st_size == slots * size:
            with path.open("r+b") as file:
                file.seek(taken * size)
                file.write(bytes((slots - taken) * size))
