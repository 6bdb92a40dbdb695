"""Cache the vectors of an encoder on disk, for all runs of a bench."""

import re
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock

import numpy as np
from platformdirs import user_cache_path

from langgraph_engram.embeddings.base import Encoder, Vectors

NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]")
KEY_BYTES = 16
LOCK_SECONDS = 60.0
"""Longest wait for another process that writes to the file."""


class VectorCache:
    """Keep vectors in an SQLite file, under the hashes of their texts. Several processes may share a folder."""

    def __init__(self, inner: Encoder, folder: Path | None = None) -> None:
        """Open the file of the inner encoder's vector space, or create it."""
        self.inner = inner
        self.name = inner.name
        home = folder or user_cache_path("langgraph-engram", appauthor=False) / "vectors"
        home.mkdir(parents=True, exist_ok=True)
        self.file = home / (NOT_IN_FILE_NAMES.sub("_", inner.name) + ".sqlite")
        self._lock = Lock()
        self._database = sqlite3.connect(self.file, check_same_thread=False, timeout=LOCK_SECONDS)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=OFF")  # what a power cut loses is encoded again
        self._database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, in order: float32, each of length 1."""
        if not texts:
            return self.inner.encode(texts)
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest() for text in texts]
        rows = self._load(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in rows}
        if missing:
            fresh = self.inner.encode(list(missing.values())).astype(np.float32)
            rows |= {key: row.tobytes() for key, row in zip(missing, fresh, strict=True)}
            with self._lock, self._database:
                saved = [(key, rows[key]) for key in missing]
                self._database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", saved)
        return np.stack([np.frombuffer(rows[key], dtype=np.float32) for key in keys])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _load(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        query = "SELECT key, row FROM vectors WHERE key = ?"
        with self._lock:
            found = [self._database.execute(query, [key]).fetchone() for key in keys]
        return dict(row for row in found if row)
