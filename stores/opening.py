"""Open the collections of a store; where there is none, make them.

Chroma reads what its graph of neighbours has not taken in yet again with each write, and no search asks that graph: it
is built as cheaply as Chroma allows and takes rows in often (docs/decisions/0004, 0048).
"""

from typing import TYPE_CHECKING

from langgraph_engram.errors import EncoderMismatch, StoreError
from langgraph_engram.stores.rows import PAGE_SIZE, Rows

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateHNSWConfiguration


PREFIX = "engram-"
MEMORIES, ROOT = "memories", "revisions"
ITEMS_PREFIX = "engram-store-"
"""How the names of the collections of LangGraph's store begin."""
SCHEMA = 4
"""The version of what is written: rows of all kinds in one collection, an item as JSON. Changing a model's default
changes it."""
GENERATION = "generation"
"""The key in the root's metadata that names the generation of vectors in use; empty for the first."""
GRAPH: "CreateHNSWConfiguration" = {
    "space": "cosine",
    "ef_construction": 10,
    "max_neighbors": 4,
    "batch_size": 100,
    "sync_threshold": 100,
}
"""How Chroma's own graph of neighbours is built."""


def open_rows(client: "Client", encoder_name: str, location: str) -> Rows:
    """Open the rows of a store; where there is none, make its collections, the root last.

    Args:
        client: The Chroma client.
        encoder_name: The vector space that the store's vectors must be of.
        location: What errors call the store.

    Raises:
        EncoderMismatch: The store's vectors were made by another encoder.
        StoreError: The store is of a version that this one cannot read.
    """
    root = _existing(client, PREFIX + ROOT)
    if root is None:
        memories = make_collection(client, collection_name(""), encoder_name)
        _check_encoder(memories, encoder_name, location)  # another process may have made it meanwhile
        root = make_collection(client, PREFIX + ROOT, encoder_name)
    _check_encoder(root, encoder_name, location)
    metadata = root.metadata or {}
    if (version := metadata.get("schema")) != SCHEMA:
        raise StoreError(
            f"the store {location!r} has schema {version!r} and this version reads {SCHEMA!r}: export it with the "
            f"version that wrote it and load it into a new store, or choose another store"
        )
    memories = client.get_collection(collection_name(str(metadata.get(GENERATION, ""))), embedding_function=None)
    _check_encoder(memories, encoder_name, location)
    return Rows(client, memories, root, min(PAGE_SIZE, client.get_max_batch_size()))


def written_with(client: "Client") -> str | None:
    """Return the name of the encoder that a store's vectors were made with; None where there is no store."""
    root = _existing(client, PREFIX + ROOT)
    return str((root.metadata or {}).get("encoder")) if root else None


def make_collection(client: "Client", name: str, encoder_name: str) -> "Collection":
    """Make a collection, or open the one of this name."""
    return client.get_or_create_collection(
        name,
        embedding_function=None,
        metadata={"encoder": encoder_name, "schema": SCHEMA},
        configuration={"hnsw": GRAPH},
    )


def collection_name(generation: str) -> str:
    """Return what the collection of memories is called whose vectors are of a generation."""
    return PREFIX + (f"{generation}-" if generation else "") + MEMORIES


def unused_collections(rows: Rows) -> list[str]:
    """Return the names of collections of ours that belong to no store: a move to another encoder was cut off."""
    used = {rows.memories.name, rows.root.name}
    names = [collection.name for collection in rows.client.list_collections()]
    return sorted(
        name for name in names if name.startswith(PREFIX) and not name.startswith(ITEMS_PREFIX) and name not in used
    )


def _existing(client: "Client", name: str) -> "Collection | None":
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def _check_encoder(collection: "Collection", encoder_name: str, location: str) -> None:
    if (written := (collection.metadata or {}).get("encoder")) != encoder_name:
        raise EncoderMismatch(
            f"the store {location!r} was written with the encoder {written!r}, not {encoder_name!r}: open it with the "
            f"encoder it was written with (ENGRAM_ENCODER), or export it and load it into a new store",
            written_with=str(written),
        )
