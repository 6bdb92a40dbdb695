"""Lend databases in memory, each to one store at a time, and use them again once they are emptied.

Chroma keeps some megabytes of every collection in memory that was ever written, whatever is deleted of it or around it
(seen with 1.5.9: 25 MB for the eight collections of a store). A process that opens one store in memory after the other,
as test suites do, would grow with each. This module does not know what the collections hold.
"""

from collections import defaultdict
from threading import Lock
from typing import TYPE_CHECKING, cast
from uuid import uuid4

if TYPE_CHECKING:
    from chromadb.api.client import AdminClient, Client
    from chromadb.config import Settings

MOST_ROWS = 2_000
"""Rows of a collection that are taken away one by one. A database with a larger one is dropped: that is faster."""


class MemoryDatabases:
    """The databases in memory of one process. Safe in many threads."""

    def __init__(self) -> None:
        """Start without any."""
        self._emptied: defaultdict[str, list[str]] = defaultdict(list)
        self._lock = Lock()

    def take(self, kind: str | None, settings: "Settings") -> "tuple[Client, str]":
        """Give a client of an empty database, and the database's name.

        Args:
            kind: What its collections are made for. An emptied database serves only stores of the same kind; none for
                collections that only show later what they are made for.
            settings: Those of the client.
        """
        import chromadb

        with self._lock:
            database = self._emptied[kind].pop() if kind and self._emptied[kind] else ""
        if not database:
            database = f"engram-{uuid4().hex}"
            _admin(settings).create_database(database)
        return cast("Client", chromadb.EphemeralClient(settings=settings, database=database)), database

    def give_back(self, kind: str | None, database: str, settings: "Settings") -> None:
        """Empty a database that no store uses any more, for the next store of its kind; drop it where it is large."""
        import chromadb

        client = chromadb.EphemeralClient(settings=settings, database=database)
        found = [] if kind is None else client.list_collections()
        rows = [(one, one.get(include=[], limit=MOST_ROWS + 1)["ids"]) for one in found]
        if kind is None or any(len(ids) > MOST_ROWS for _, ids in rows):
            _admin(settings).delete_database(database)
            return
        for one, ids in rows:
            if ids:
                one.delete(ids=ids)
        with self._lock:
            self._emptied[kind].append(database)


def _admin(settings: "Settings") -> "AdminClient":
    import chromadb

    of_admin = settings.model_copy(update={"is_persistent": False})
    return cast("AdminClient", chromadb.AdminClient(of_admin))


MEMORY_DATABASES = MemoryDatabases()
"""Those of this process."""
