"""Reach Chroma: in a folder, in memory only, or on a server. Chroma is imported when the first client is opened."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import httpx

from langgraph_engram.errors import InvalidSetting, StoreError
from langgraph_engram.stores.failures import translated, unreachable
from langgraph_engram.stores.memory_databases import MEMORY_DATABASES

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.config import Settings

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
