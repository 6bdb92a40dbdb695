"""Open Chroma clients: in a folder, in memory, or on a server. Chroma is imported when the first client is opened.

A folder's is opened when it is first asked for (`Lazy`): what is in a snapshot is read without it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from uuid import uuid4

import httpx
from pydantic import ValidationError

from langgraph_engram.errors import (
    InvalidMessages,
    InvalidSetting,
    StoreError,
    StoreFailed,
    StoreUnreachable,
    StoreUnwritable,
)
from langgraph_engram.stores.locks import COPY_IT

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.config import Settings

T = TypeVar("T")

PANIC = "PanicException"
"""What Chroma raises where it meets what it takes for impossible; it is no `Exception`, and cannot be imported."""
ANSWER_SECONDS = 10.0
"""How long a server may take to answer a heartbeat."""
CLIENTS_LOCK = Lock()
"""Chroma counts its clients to free everything with the last one, and does not lock opening and closing."""


class Lazy(Generic[T]):
    """Something that is made when it is first asked for, once. Many threads may ask at once."""

    def __init__(self, make: Callable[[], T], location: str) -> None:
        self._make, self._location = make, location
        self._lock = Lock()
        self._made: T | None = None
        self._closed = False

    def __call__(self) -> T:
        """Return it; where making it fails, the next to ask tries again. `StoreError` once it is closed."""
        with self._lock:
            if self._closed:
                raise closed_error(self._location)
            if self._made is None:
                self._made = self._make()
            return self._made

    @property
    def is_made(self) -> bool:
        """Whether it was asked for, and is there."""
        return self._made is not None

    def close(self) -> T | None:
        """Return what was made, if it was, after a call that is under way; nothing is made or returned from then on."""
        with self._lock:
            self._closed = True
            made, self._made = self._made, None
            return made


def closed_error(location: str) -> StoreError:
    """Return the error of a store at `location` that is used after it was closed."""
    return StoreError(f"the store {location!r} is closed: open it again")


@contextmanager
def translated_errors(location: str) -> Iterator[None]:
    """Raise our errors for Chroma's while a store at `location` is used: `StoreFailed` where it may pass."""
    try:
        yield
    except httpx.TransportError as error:
        raise _unreachable(location, error) from error
    except _chroma_errors().ChromaError as error:
        reason = " ".join(str(error).split())
        if "readonly" in reason:
            raise StoreUnwritable(f"the store {location!r} cannot be written ({reason}): {COPY_IT}") from error
        passing = _chroma_errors().InternalError, _chroma_errors().RateLimitError
        error_type = StoreFailed if isinstance(error, passing) else StoreError
        raise error_type(f"the store {location!r} failed: {reason}; try again, or look at its disk") from error
    except UnicodeEncodeError as error:
        raise InvalidMessages(
            f"half a character in {error.object[max(0, error.start - 20) : error.end]!r}: send text "
            f"that is valid Unicode"
        ) from error
    except ValidationError as error:
        raise StoreError(
            f"the store {location!r} holds a {error.title!r} that this version cannot read: install the version that "
            f"wrote it"
        ) from error
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise StoreError(
            f"the store {location!r} cannot be read ({' '.join(str(error).split())}): its files are damaged; restore a "
            f"copy of the store"
        ) from error


def open_folder(folder: Path) -> "Client":
    """Open Chroma in a folder that exists. One process at a time may; `StoreError` where Chroma cannot."""
    import chromadb

    open_client = partial(chromadb.PersistentClient, path=folder, settings=_settings())
    try:
        with CLIENTS_LOCK, translated_errors(str(folder)):
            try:
                return cast("Client", open_client())
            except (ValueError, AttributeError, _chroma_errors().ChromaError):
                # Chroma takes what it could not start for started: another client fails too, and frees it
                with suppress(ValueError, AttributeError, KeyError, _chroma_errors().ChromaError):
                    cast("Client", open_client()).close()
                raise
    except (ValueError, AttributeError) as error:  # what Chroma raises, and raises while it cleans up after that
        raise StoreError(
            f"the store {str(folder)!r} cannot be opened: its database is damaged or not one of Chroma's; choose "
            f"another folder, or restore a copy of the store"
        ) from error


def open_memory() -> "tuple[Client, Callable[[], None]]":
    """Open an empty Chroma in memory, with a database of its own; return the client, and what closes it once.

    All clients in memory of a process share one Chroma, which frees what collections took only when its last client is
    closed (1.5.9: 2.5 MB for each that was written). The database is made by the client's own administrator, though its
    name is private: a public `AdminClient` cannot be closed, and would keep all of it.
    """
    import chromadb

    database = f"engram-{uuid4().hex}"
    with CLIENTS_LOCK:
        client = cast("Client", chromadb.EphemeralClient(settings=_settings()))
        client._admin_client.create_database(database)
        client.set_database(database)

    def close() -> None:
        with CLIENTS_LOCK:
            client._admin_client.delete_database(database)
            client.close()

    return client, close


def open_server(url: str) -> "tuple[Client, Callable[[], None]]":
    """Open the Chroma server at a URL; return the client, and what closes it once, with its connections.

    Raises:
        InvalidSetting: The URL is invalid.
        StoreUnreachable: No Chroma answers there.
    """
    import chromadb

    address = url.rstrip("/")
    try:
        # Chroma's own message names no URL
        httpx.get(f"{address}/api/v2/heartbeat", timeout=ANSWER_SECONDS).raise_for_status()
        with translated_errors(url):
            client = cast("Client", chromadb.HttpClient(host=address, settings=_settings()))
            return client, partial(_disconnect, client)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise InvalidSetting(
            f"{url!r} is not the URL of a Chroma server: give one such as 'http://localhost:8000'"
        ) from error
    except (httpx.HTTPError, ValueError) as error:
        raise _unreachable(url, error) from error


def _chroma_errors() -> Any:
    """Return Chroma's errors; imported when something has failed, for not all that may fail has needed Chroma."""
    from chromadb import errors

    return errors


def _disconnect(client: "Client") -> None:
    """Close a client and its connections, which nothing public does: its own `close` leaves them to be collected."""
    client.close()
    for part in (client, client._admin_client):
        session = getattr(getattr(part, "_server", None), "_session", None)
        if isinstance(session, httpx.Client):
            session.close()


def _unreachable(url: str, reason: object) -> StoreUnreachable:
    return StoreUnreachable(
        f"no Chroma server answers at {url!r} ({reason}): start one with `chroma run --path DIR`, or name a folder "
        f"instead of a URL"
    )


def _settings() -> "Settings":
    """Return settings for one client, a copy of its own: to read them from the environment takes milliseconds."""
    return _read_settings().model_copy()


@cache
def _read_settings() -> "Settings":
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
