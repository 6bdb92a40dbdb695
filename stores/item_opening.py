"""Open the items of a store by its location: the same locations, folders and locks as a memory's, other collections."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from langgraph_engram.errors import InvalidSetting
from langgraph_engram.stores.clients import open_memory, open_server
from langgraph_engram.stores.failures import translated
from langgraph_engram.stores.item_store import ItemStore
from langgraph_engram.stores.open_folders import OPEN_FOLDERS
from langgraph_engram.stores.opening import MEMORY

if TYPE_CHECKING:
    from chromadb.api.client import Client

PART = "items"
"""What the items' part of a folder is called."""


def open_items(location: str | Path) -> tuple[ItemStore, Callable[[], None]]:
    """Open the items of a store.

    Args:
        location: A folder, shared within the process; "memory:" for fresh ones that are kept nowhere; or the
            `http(s)://` URL of a Chroma server, which several processes may use.

    Returns:
        The items, and what lets go of them; to be called once.

    Raises:
        InvalidSetting: The location is empty, or no URL.
        StoreLocked: Another process has the folder open.
        StoreUnwritable: The folder cannot be made or written.
        StoreUnreachable: No Chroma server answers.
    """
    if location == "":
        raise InvalidSetting("no location of a store: give a folder, 'memory:' or the URL of a Chroma server")
    if location == MEMORY:
        client, empty = open_memory(None)
        items = ItemStore(client, MEMORY, on_close=empty)
        return items, items.close
    if isinstance(location, str) and "://" in location:
        items = _open_on_server(location)
        return items, items.close
    folder = Path(location).expanduser().resolve()
    return OPEN_FOLDERS.take(folder, PART, partial(_in_folder, folder)), partial(OPEN_FOLDERS.let_go, folder, PART)


def _in_folder(folder: Path, client: "Client") -> ItemStore:
    with translated(str(folder)):
        return ItemStore(client, str(folder))


def _open_on_server(url: str) -> ItemStore:
    with ExitStack() as failed:
        client, hang_up = open_server(url)
        failed.callback(hang_up)
        with translated(url):
            items = ItemStore(client, url, shared=True, on_close=hang_up)
        failed.pop_all()
    return items
