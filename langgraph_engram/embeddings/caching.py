"""Cache the vectors of an encoder: in memory, or on disk for all processes."""

import re
import sqlite3
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from langgraph_engram.embeddings.base import APPLICATION, Encoder, Vectors

Rows: TypeAlias = dict[str, NDArray[np.float32]]
"""Vectors by their texts."""
DEFAULT_SIZE = 20_000
"""Texts in memory: 30 MB of vectors of 384 dimensions, and the texts."""
NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]")
KEY_BYTES = 16
KEYS_PER_QUERY = 500
"""SQLite bounds the number of variables of a query."""
LOCK_SECONDS = 60.0
"""Longest wait for another process that writes to the file."""


class CachingEncoder(ABC):
    """Encode texts with `inner` unless their vectors are cached. As safe in many threads as `inner` is."""

    def __init__(self, inner: Encoder) -> None:
        """Wrap `inner`, which encodes all missing texts in one call."""
        self.inner = inner

    @property
    def name(self) -> str:
        """Return the inner encoder's name: the vector space is the same."""
        return self.inner.name

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order. The array is not shared with the cache.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1.
        """
        if not texts:
            return self.inner.encode(texts)
        rows = self._load(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in rows]
        if missing:
            fresh = {text: row.copy() for text, row in zip(missing, self.inner.encode(missing), strict=True)}
            self._save(fresh)
            rows |= fresh
        return np.stack([rows[text] for text in texts])

    @abstractmethod
    def _load(self, texts: Sequence[str]) -> Rows:
        """Return the cached vectors of these texts."""

    @abstractmethod
    def _save(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        """Cache the vectors of texts."""


class CachedEncoder(CachingEncoder):
    """Keep recent vectors in memory."""

    def __init__(self, inner: Encoder, size: int = DEFAULT_SIZE) -> None:
        """Create an empty cache.

        Args:
            inner: Encodes what is missing.
            size: Texts in the cache; the least recently used is evicted first. 0 caches nothing.
        """
        super().__init__(inner)
        self._size = size
        self._rows: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def _load(self, texts: Sequence[str]) -> Rows:
        with self._lock:
            known = {text: self._rows[text] for text in texts if text in self._rows}
            for text in known:
                self._rows.move_to_end(text)
        return known

    def _save(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        with self._lock:
            self._rows |= fresh
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)


class DiskCachedEncoder(CachingEncoder):
    """Keep vectors in an SQLite file, under the hashes of their texts. Several processes may share a folder."""

    def __init__(self, inner: Encoder, folder: Path | None = None) -> None:
        """Open the file of the inner encoder's vector space, or create it.

        Args:
            inner: Encodes what is missing.
            folder: The folder of the file; None for the user's cache folder.
        """
        super().__init__(inner)
        home = folder or user_cache_path(APPLICATION, appauthor=False) / "vectors"
        home.mkdir(parents=True, exist_ok=True)
        self.file = home / (NOT_IN_FILE_NAMES.sub("_", inner.name) + ".sqlite")
        self._lock = Lock()
        self._database = sqlite3.connect(self.file, check_same_thread=False, timeout=LOCK_SECONDS)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=OFF")  # what a power cut loses is encoded again
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _load(self, texts: Sequence[str]) -> Rows:
        text_of = {_key(text): text for text in texts}
        keys = list(text_of)
        rows: Rows = {}
        with self._lock:
            for start in range(0, len(keys), KEYS_PER_QUERY):
                batch = keys[start : start + KEYS_PER_QUERY]
                variables = ",".join("?" * len(batch))
                found = self._database.execute(f"SELECT key, row FROM vectors WHERE key IN ({variables})", batch)
                rows |= {text_of[key]: np.frombuffer(row, dtype=np.float32) for key, row in found}
        return rows

    def _save(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        rows = [(_key(text), row.astype(np.float32).tobytes()) for text, row in fresh.items()]
        with self._lock, self._database:
            self._database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
