"""Take from Chroma's own files what they keep of rows that are gone.

Chroma lets go of a row without overwriting it, and keeps what was written last in a log beside it, deleted or not. So
the log loses all but the newest entry of each row of ours, the full-text index its deleted terms, and the file its free
pages. A vector index that was never written begins with whatever stood in the memory of the process, and that is
overwritten. Vectors in an index that was written are numbers of deleted places by then; they stay until Chroma writes
it anew. This module does not know what is forgotten.
"""

import logging
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

LOG = logging.getLogger(__name__)
DATABASE = "chroma.sqlite3"
WAIT_SECONDS = 10.0
"""How long to wait for a reader of the database to finish."""
OUTDATED = """
    DELETE FROM embeddings_queue WHERE id LIKE ? AND seq_id NOT IN
    (SELECT max(seq_id) FROM embeddings_queue WHERE id LIKE ? GROUP BY topic, id)
"""
"""Entries of the log that a later one of the same row makes needless: each of ours is a whole row, or its end."""
MERGE_TERMS = "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('optimize')"

HEADER = struct.Struct("<iQQQQ")
"""How the header of a vector index begins: version, an offset, places in all, places taken, bytes of a place."""

LENGTH_BYTES = 4
"""Bytes in which an index keeps the length of a vector, beside its places."""


def secure_delete(folder: Path, prefix: str) -> bool:
    """Overwrite what the files of an embedded store hold of rows that are gone.

    Args:
        folder: Where the store is. No write of Chroma's may be under way in this process.
        prefix: What the ids of the rows begin with.

    Returns:
        Whether it could be done: another version of Chroma, or a long read, may stand in the way.
    """
    for header in folder.glob("*/header.bin"):
        blank_room(header)
    try:
        with closing(sqlite3.connect(folder / DATABASE, timeout=WAIT_SECONDS, isolation_level=None)) as database:
            database.execute("PRAGMA secure_delete=ON")
            database.execute(OUTDATED, (f"{prefix}%", f"{prefix}%"))
            database.execute(MERGE_TERMS)
            database.execute("VACUUM")
    except sqlite3.Error as error:
        LOG.warning("the database in %s could not be scrubbed: %s", folder, error)
        return False
    return True


def blank_room(header: Path) -> None:
    """Write zeros over the places of a vector index that were never taken; what is no such index is left alone."""
    start = header.read_bytes()[: HEADER.size]
    if len(start) < HEADER.size:
        return
    version, _, room, taken, size = HEADER.unpack(start)
    for name, each in (("data_level0.bin", size), ("length.bin", LENGTH_BYTES)):
        places = header.with_name(name)
        if version == 1 and taken < room and places.exists() and places.stat().st_size == room * each:
            with places.open("r+b") as file:
                file.seek(taken * each)
                file.write(bytes((room - taken) * each))
