"""Move a store to another encoder: vectors are made beside the old ones, and one write switches over to them.

Until that write the store is as it was; after it the old vectors are of no use and are removed. Cut off before or
after, what is not in use is found by the next move, or by `engram doctor`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors, encode_items
from langgraph_engram.errors import InvalidInput, StoreError, StoreLocked
from langgraph_engram.results import ReembedReceipt
from langgraph_engram.stores.clients import open_server, translated_errors
from langgraph_engram.stores.collections import (
    GENERATION,
    REVISIONS,
    Collections,
    collection_name,
    items_of,
    make_collection,
    open_collections,
    unused_collections,
    written_with,
)
from langgraph_engram.stores.folders import MEMORY, OPEN_FOLDERS, PART
from langgraph_engram.stores.index import SEARCHABLE
from langgraph_engram.stores.locks import write_lock

if TYPE_CHECKING:
    from chromadb.api.client import Client

MOVING = "reembed"
"""The part of a folder that is open while it is moved."""
Progress = Callable[[str, int, int], None]
"""Called with the current step, how many items are done, and how many there are."""


def reembed(location: str, encoder: Encoder, progress: Progress | None = None) -> ReembedReceipt:
    """Make the vectors of a store anew with another encoder, and switch over to them at the end.

    Args:
        location: A folder that nobody has open, or the URL of a Chroma server that nobody writes to meanwhile.
        encoder: What makes the new vectors.
        progress: Called after each page.

    Returns:
        Both encoders, and how many items were encoded: none where the store has that encoder already.

    Raises:
        InvalidInput: There is no memory at the location.
        StoreLocked: This or another process has the folder open.
        StoreError: The store was written to meanwhile, or failed; it is as it was.
    """
    with _opened(location) as (client, folder), translated_errors(location):
        name = written_with(client)
        if name is None:
            raise InvalidInput(f"no memory at {location!r}: remember something first")
        before = open_collections(client, name, location, partial(_refuse, location))
        held = nullcontext if folder is None else partial(write_lock, folder)
        _drop(client, unused_collections(before))
        if name == encoder.name:
            return ReembedReceipt(before=name, after=name, items=0)
        generation, seen = uuid4().hex[:8], _commits(before)
        items = _encode(before, encoder, generation, held, progress)
        if _commits(before) != seen:
            raise StoreError(f"the store {location!r} was written to meanwhile: stop who writes, and move it again")
        root = before.by_name[REVISIONS]
        root.modify(metadata={**(root.metadata or {}), "encoder": encoder.name, GENERATION: generation})
        if progress:
            progress("switched", items, items)
        _drop(client, [before.by_name[kind.name].name for kind in SEARCHABLE])
    return ReembedReceipt(before=name, after=encoder.name, items=items)


@contextmanager
def _opened(location: str) -> Iterator[tuple["Client", Path | None]]:
    """Open a client of a store that nobody in this process has open, and its folder if it has one."""
    if "://" in location:
        client, close = open_server(location)
        try:
            yield client, None
        finally:
            close()
        return
    folder = Path(location).expanduser().resolve()
    if location == MEMORY or not folder.exists():
        raise InvalidInput(f"no store at {location!r}: name its folder, or the URL of a Chroma server")
    if OPEN_FOLDERS.is_open(folder, PART):
        raise StoreLocked(f"this process has the store {str(folder)!r} open: close it first")
    client = OPEN_FOLDERS.acquire(folder, MOVING, lambda opened: opened)
    try:
        yield client, folder
    finally:
        OPEN_FOLDERS.release(folder, MOVING)


def _refuse(location: str, version: int) -> None:
    raise StoreError(f"the store {location!r} has schema {version}: migrate it first with `engram doctor --fix`")


def _commits(collections: Collections) -> list[Any]:
    """Return what changes with every commit of another process on a server."""
    return [page["metadatas"] for page in collections.pages(REVISIONS, ["metadatas"])]


def _encode(
    before: Collections, encoder: Encoder, generation: str, held: Callable[[], Any], progress: Progress | None
) -> int:
    """Write the rows of each kind, in their order, with new vectors to collections of a generation; return how many."""
    total = sum(before.by_name[kind.name].count() for kind in SEARCHABLE)
    done = 0
    for kind in SEARCHABLE:
        with held():
            collection = make_collection(before.client, collection_name(kind.name, generation), encoder.name)
        for page in before.pages(kind.name, ["metadatas", "documents"]):
            vectors: Vectors = encode_items(encoder, [kind.texts_of(item) for item in items_of(kind, page)])
            with held():
                collection.upsert(
                    ids=page["ids"],
                    embeddings=np.ascontiguousarray(vectors),
                    metadatas=page["metadatas"],
                    documents=page["documents"],
                )
            done += len(page["ids"])
            if progress:
                progress(f"encoding {kind.name}", done, total)
    return done


def _drop(client: "Client", names: list[str]) -> None:
    for name in names:
        client.delete_collection(name)
