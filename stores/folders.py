"""Open a store by its location, and share a folder among all who open it within this process.

A folder holds several parts, such as the memories and the items of LangGraph's store. Each part is opened once and
counted; one lock holds the folder against other processes until the last part is closed.
"""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from filelock import FileLock

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import EncoderMismatch, InvalidSetting
from langgraph_engram.settings import StorageSettings
from langgraph_engram.stores.base import kind_of_location
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.chroma_files import WITHOUT_INDEX, ChromaWrites, discard_cut_off_indexes, finish_removals
from langgraph_engram.stores.clients import CLIENTS_LOCK, Lazy, open_folder, open_memory, open_server
from langgraph_engram.stores.locks import lock_folder, make_folder, remove_folders, server_locks
from langgraph_engram.stores.snapshots import confirm_current, discard_outdated, withdraw_stamp

if TYPE_CHECKING:
    from chromadb.api.client import Client

P = TypeVar("P")

log = logging.getLogger(__name__)
PART = "memories"
"""The part of a folder that holds memories."""


def open_store(location: str | Path, encoder: Encoder, *, settings: StorageSettings | None = None) -> ChromaStore:
    """Open a store.

    Args:
        location: A folder, made if it is missing and shared within the process; "memory:" for a fresh store that is
            gone when it is closed; or the `http(s)://` URL of a Chroma server, which several processes may use.
        encoder: What makes the store's vectors. A store is written with one encoder throughout.
        settings: How much of it is held in memory. Of those who open a folder in one process, the first one says.

    Raises:
        InvalidSetting: The location is empty, or an invalid URL.
        StoreError: Another version wrote the store.
        StoreLocked: Another process has the folder open.
        StoreUnwritable: The folder cannot be made or written.
        StoreUnreachable: No Chroma server answers.
        EncoderMismatch: The store was written with another encoder.
    """
    if location == "":
        raise InvalidSetting("the store's location is empty: give a folder, 'memory:' or the URL of a Chroma server")
    kind = kind_of_location(location)
    if kind == "folder":
        return _open_in_folder(Path(location).expanduser().resolve(), encoder, settings)
    client, close = open_memory() if kind == "memory" else open_server(str(location))
    with ExitStack() as failed:
        failed.callback(close)
        store = ChromaStore(
            lambda: client,
            encoder,
            location=str(location),
            shared=kind == "server",
            settings=settings,
            on_close=close,
            locks=server_locks(str(location)) if kind == "server" else None,
        )
        failed.pop_all()
    return store


class OpenFolders:
    """The folders that this process has open, by folder and name of the part."""

    def __init__(self) -> None:
        self._parts: dict[tuple[Path, str], _OpenPart[Any]] = {}
        self._locks: dict[Path, FileLock] = {}
        self._lock = RLock()

    def acquire(
        self,
        folder: Path,
        name: str,
        open_part: "Callable[[Lazy[Client]], P]",
        close_part: Callable[[P], None] | None = None,
    ) -> P:
        """Open a part of a resolved folder, or join those who have it open; each caller releases it with `release`.

        The folder is made if it is missing; a failure leaves none that was not there. `open_part` makes the part from a
        client of its own, opened when it is asked for; `close_part` is called before that client is closed.
        """
        with self._lock:
            opened: _OpenPart[P] = self._parts.get((folder, name)) or self._open(folder, open_part, close_part)
            opened.users += 1
            self._parts[folder, name] = opened
            return opened.part

    def release(self, folder: Path, name: str) -> None:
        """Release a part; the last user closes it, and the last part of a folder releases its lock."""
        with self._lock:
            opened = self._parts[folder, name]
            opened.users -= 1
            if opened.users:
                return
            del self._parts[folder, name]
            is_last = not any(path == folder for path, _ in self._parts)
            with ExitStack() as closed:
                if is_last:
                    closed.callback(self._locks.pop(folder).release)
                    closed.callback(confirm_current, folder)
                closed.callback(_close, opened.client, folder)
                if opened.close_part:
                    opened.close_part(opened.part)

    def _open(
        self, folder: Path, open_part: "Callable[[Lazy[Client]], P]", close_part: Callable[[P], None] | None
    ) -> "_OpenPart[P]":
        made = make_folder(folder)
        with ExitStack() as failed:
            lock = self._locks.get(folder)
            if lock is None:
                lock = lock_folder(folder)
                failed.callback(lock.release)
                failed.callback(remove_folders, made)
                discard_outdated(folder)
                failed.callback(confirm_current, folder)
                finish_removals(folder)
                discard_cut_off_indexes(folder)
            client = Lazy(partial(_open_client, folder), str(folder))
            failed.callback(_close, client, folder)
            opened = _OpenPart(open_part(client), client, close_part)
            failed.pop_all()
        self._locks[folder] = lock
        return opened


def _open_client(folder: Path) -> "Client":
    withdraw_stamp(folder)
    return open_folder(folder)


def _close(client: "Lazy[Client]", folder: Path) -> None:
    if made := client.close():
        with CLIENTS_LOCK:
            made.close()
        ChromaWrites(folder).blank_new_slots()


@dataclass
class _OpenPart(Generic[P]):
    part: P
    client: "Lazy[Client]"
    close_part: Callable[[P], None] | None = None
    users: int = 0


OPEN_FOLDERS = OpenFolders()
"""Those of this process, as is the lock of a folder."""


def _open_in_folder(folder: Path, encoder: Encoder, settings: StorageSettings | None) -> ChromaStore:
    encoder.name  # noqa: B018  # an encoder that cannot be loaded fails here, before anything is written
    open_part = partial(ChromaStore, encoder=encoder, location=str(folder), folder=folder, settings=settings)
    store = OPEN_FOLDERS.acquire(folder, PART, open_part, ChromaStore.free_memory)
    release = partial(OPEN_FOLDERS.release, folder, PART)
    with ExitStack() as failed:
        failed.callback(release)
        if store.encoder.name != encoder.name:
            raise EncoderMismatch(
                f"the store {str(folder)!r} is open with the encoder {store.encoder.name!r}, not "
                f"{encoder.name!r}: open it with the same one"
            )
        if (folder / WITHOUT_INDEX).exists():
            lost = len(store.examine(fix=True).found["wrong vector"])
            (folder / WITHOUT_INDEX).unlink()
            log.warning("a process died as Chroma wrote the index of %s: %d vectors were made anew", folder, lost)
        failed.pop_all()
    return store.handle(on_close=release)
