"""Reach Chroma: in a folder, in memory only, or on a server. Chroma is imported when the first client is opened."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
from pydantic import ValidationError

from langgraph_engram.errors import InvalidMessages, InvalidSetting, StoreError, StoreFailed, StoreUnreachable

if TYPE_CHECKING:
    from chromadb.api.client import AdminClient, Client
    from chromadb.config import Settings


def unreachable(url: str, reason: object) -> StoreUnreachable:
    """Say that no server answers at `url`, and how to start one."""
    return StoreUnreachable(
        f"no Chroma server answers at {url!r} ({reason}): start one with `chroma run --path DIR`, or name a folder "
        f"instead of a URL"
    )


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Raise our errors for Chroma's while a store at `location` is used.

    Raises:
        StoreUnreachable: The connection to a server broke.
        StoreFailed: Chroma could not do it this time: its database is busy, or it has too much to do.
        StoreError: Chroma could not do it, or holds what this version cannot read.
        InvalidMessages: A text cannot be written in UTF-8.
    """
    from chromadb.errors import ChromaError, InternalError, RateLimitError

    try:
        yield
    except httpx.TransportError as error:
        raise unreachable(location, error) from error
    except ChromaError as error:
        reason = " ".join(str(error).split())
        kind = StoreFailed if isinstance(error, InternalError | RateLimitError) else StoreError
        raise kind(f"the store {location!r} failed: {reason}; try again, or look at its disk") from error
    except UnicodeEncodeError as error:
        raise InvalidMessages(
            f"half a character in {error.object[max(0, error.start - 20) : error.end]!r}: send text "
            f"that is valid Unicode"
        ) from error
    except ValidationError as error:
        raise StoreError(
            f"the store {location!r} holds a {error.title!r} that this version cannot read: install the one it is of"
        ) from error


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

ANSWER_SECONDS = 10.0
"""How long a server may take to say that it is there."""


def open_folder(folder: Path) -> "Client":
    """Open Chroma in a folder that exists. One process at a time may.

    Raises:
        StoreError: Chroma cannot open it.
    """
    import chromadb

    try:
        with translated(str(folder)):
            return cast("Client", chromadb.PersistentClient(path=folder, settings=_quiet()))
    except (ValueError, AttributeError) as error:  # what Chroma raises, and raises while it cleans up after that
        raise StoreError(
            f"the store {str(folder)!r} cannot be opened: its database is damaged or is none; choose another folder, "
            f"or put a copy of the store back"
        ) from error


def open_memory(kind: str | None) -> "tuple[Client, Callable[[], None]]":
    """Open an empty Chroma in memory, apart from every other: a process has one, so each gets a database of its own.

    Args:
        kind: What its collections are made for; see `MemoryDatabases`.

    Returns:
        The client, and what empties the database when the client is closed.
    """
    client, database = MEMORY_DATABASES.take(kind, _quiet())
    return client, partial(MEMORY_DATABASES.give_back, kind, database, _quiet())


def open_server(url: str) -> "tuple[Client, Callable[[], None]]":
    """Open the Chroma server at a URL.

    Returns:
        The client, and what ends its connections.

    Raises:
        InvalidSetting: It is no such URL.
        StoreUnreachable: No Chroma answers there.
    """
    import chromadb

    address = _address(url)
    try:
        httpx.get(f"{address}/api/v2/heartbeat", timeout=ANSWER_SECONDS).raise_for_status()
        with translated(url):
            client = cast("Client", chromadb.HttpClient(host=address, settings=_quiet()))
            return client, partial(_hang_up, client)
    except (httpx.HTTPError, ValueError) as error:
        raise unreachable(url, error) from error


def _hang_up(client: "Client") -> None:
    """End the connections of a client: its own `close` leaves them to the garbage collector."""
    for part in (client, client._admin_client):
        session = getattr(getattr(part, "_server", None), "_session", None)
        if isinstance(session, httpx.Client):
            session.close()


def _address(url: str) -> str:
    """Check a URL before Chroma does: its own message names no URL."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise InvalidSetting(f"no URL of a Chroma server: {url!r}; give one such as 'http://localhost:8000'")
    return url.rstrip("/")


def _quiet() -> "Settings":
    """Give settings that tell nobody anything."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
