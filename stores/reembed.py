"""Move a store to another encoder: vectors are made beside the old ones, and one write switches over to them.

Until that write the store is as it was; after it the old vectors are of no use and are removed. Cut off before or
after, what is not in use is found by the next move, or by `engram doctor`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from langgraph_engram.embeddings.base import Encoder, encode_items
from langgraph_engram.errors import InvalidInput, StoreError, StoreLocked
from langgraph_engram.results import ReembedReceipt
from langgraph_engram.schema import Scope
from langgraph_engram.stores.base import kind_of_location
from langgraph_engram.stores.chroma_files import FolderWrites
from langgraph_engram.stores.clients import open_server, translated_errors
from langgraph_engram.stores.folders import OPEN_FOLDERS, PART
from langgraph_engram.stores.kinds import SEARCHABLE, KindItems
from langgraph_engram.stores.rows import (
    GENERATION,
    KIND_OF_NAME,
    Rows,
    collection_name,
    decode,
    make_collection,
    open_rows,
    scope_of,
    unused_collections,
    written_with,
)
from langgraph_engram.stores.snapshots import Snapshots

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
        before = open_rows(client, name, location)
        held = nullcontext if folder is None else FolderWrites(folder).held
        for unused in unused_collections(before):
            client.delete_collection(unused)
        if name == encoder.name:
            return ReembedReceipt(before=name, after=name, items=0)
        generation, seen = uuid4().hex[:8], _commits(before)
        items = _encode(before, encoder, generation, held, progress)
        if _commits(before) != seen:
            raise StoreError(f"the store {location!r} was written to meanwhile: stop who writes, and move it again")
        if folder:
            Snapshots(folder, name).clear()
        root = before.root
        root.modify(metadata={**(root.metadata or {}), "encoder": encoder.name, GENERATION: generation})
        if progress:
            progress("switched", items, items)
        client.delete_collection(before.memories.name)
    return ReembedReceipt(before=name, after=encoder.name, items=items)


@contextmanager
def _opened(location: str) -> Iterator[tuple["Client", Path | None]]:
    """Open a client of a store that nobody in this process has open, and its folder if it has one."""
    kind = kind_of_location(location)
    with ExitStack() as opened:
        if kind == "server":
            client, close = open_server(location)
            opened.callback(close)
            yield client, None
            return
        folder = Path(location).expanduser().resolve()
        if kind == "memory" or not folder.exists():
            raise InvalidInput(f"no store at {location!r}: name its folder, or the URL of a Chroma server")
        if OPEN_FOLDERS.is_open(folder, PART):
            raise StoreLocked(f"this process has the store {str(folder)!r} open: close it first")
        client = OPEN_FOLDERS.acquire(folder, MOVING, lambda made: made())
        opened.callback(OPEN_FOLDERS.release, folder, MOVING)
        yield client, folder


def _commits(rows: Rows) -> list[Any]:
    """Return what changes with every commit of another process on a server."""
    return list(rows.root.get(include=["metadatas"])["metadatas"] or [])


def _encode(before: Rows, encoder: Encoder, generation: str, held: Callable[[], Any], progress: Progress | None) -> int:
    """Write all rows, in their order, with new vectors to a collection of a generation; return how many have one."""
    total, dimensions = before.memories.count(), encoder.encode([]).shape[1]
    rows = items = 0
    with held():
        after = replace(before, memories=make_collection(before.client, collection_name(generation), encoder.name))
    for page in before.pages(["metadatas"]):
        for scope, parts in _encoded(encoder, page["metadatas"]).items():
            with held():
                after.write(scope, parts, dimensions)
            items += sum(len(part.items) for part in parts if part.vectors is not None)
        rows += len(page["ids"])
        if progress:
            progress("encoding", rows, total)
    return items


def _encoded(encoder: Encoder, metadatas: Sequence[Mapping[str, Any]]) -> dict[Scope, list[KindItems[Any]]]:
    """Return the items of rows by scope, in the order of the rows, with new vectors where they are searched."""
    kinds = [KIND_OF_NAME[metadata["kind"]] for metadata in metadatas]
    items = [decode(kind.model, metadata) for kind, metadata in zip(kinds, metadatas, strict=True)]
    texts = [kind.texts_of(item) for kind, item in zip(kinds, items, strict=True) if kind in SEARCHABLE]
    vectors = iter(encode_items(encoder, texts)[:, np.newaxis])
    parts: dict[Scope, list[KindItems[Any]]] = {}
    for kind, item, metadata in zip(kinds, items, metadatas, strict=True):
        part = KindItems(kind, [item], next(vectors) if kind in SEARCHABLE else None)
        parts.setdefault(scope_of(metadata["scope"]), []).append(part)
    return parts
