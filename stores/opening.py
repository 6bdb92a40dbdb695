"""Open a store by its location: a folder, "memory:", or the URL of a Chroma server."""

from contextlib import ExitStack
from pathlib import Path

from langgraph_engram.encoder import Encoder
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.clients import open_memory, open_server
from langgraph_engram.stores.scope_locks import SERVER_LOCKS
from langgraph_engram.stores.sharing import take_folder
from langgraph_engram.stores.store import Store

MEMORY = "memory:"
"""The location of a store that is gone when it is closed."""


def open_store(location: str | Path, encoder: Encoder) -> Store:
    """Open a store.

    Args:
        location: A folder, made if it is missing and shared within the process; "memory:" for a fresh one that is
            kept nowhere; or the `http(s)://` URL of a Chroma server, which several processes may use.
        encoder: What makes the store's vectors. A store is written with one encoder throughout.

    Raises:
        InvalidSetting: The location is empty, or no URL.
        StoreLocked: Another process has the folder open.
        StoreUnwritable: The folder cannot be made or written.
        StoreUnreachable: No Chroma server answers.
        EncoderMismatch: The store was written with another encoder.
    """
    if location == "":
        raise InvalidSetting("no location of a store: give a folder, 'memory:' or the URL of a Chroma server")
    if location == MEMORY:
        client, empty = open_memory(f"memories by {encoder.name}")
        return ChromaStore(client, encoder, location=MEMORY, on_close=empty)
    if isinstance(location, str) and "://" in location:
        return _open_shared(location, encoder)
    return take_folder(Path(location), encoder)


def _open_shared(url: str, encoder: Encoder) -> ChromaStore:
    with ExitStack() as failed:
        client, hang_up = open_server(url)
        failed.callback(hang_up)
        store = ChromaStore(client, encoder, location=url, shared=True, on_close=hang_up, locks=SERVER_LOCKS.of(url))
        failed.pop_all()
    return store
