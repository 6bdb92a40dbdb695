"""Ask an encoder only for texts whose vectors are not remembered. This module does not know where they are."""

import re
import sqlite3
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.minilm_onnx import APPLICATION

Rows: TypeAlias = dict[str, NDArray[np.float32]]
"""Vectors by their texts."""


class CachingEncoder(ABC):
    """Encode with `inner` what is not remembered. Many threads may use it at once, if they may use `inner`."""

    def __init__(self, inner: Encoder) -> None:
        """Remember for `inner`, which is asked for all that is missing in one call."""
        self.inner = inner

    @property
    def name(self) -> str:
        """Give the inner encoder's name: the vector space is the same."""
        return self.inner.name

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order. The array is the caller's own.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1.
        """
        if not texts:
            return self.inner.encode(texts)
        rows = self._recall(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in rows]
        if missing:
            fresh = {text: row.copy() for text, row in zip(missing, self.inner.encode(missing), strict=True)}
            self._remember(fresh)
            rows |= fresh
        return np.stack([rows[text] for text in texts])

    @abstractmethod
    def _recall(self, texts: Sequence[str]) -> Rows:
        """Give the vectors of those texts that are remembered."""

    @abstractmethod
    def _remember(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        """Remember the vectors of texts."""


SIZE = 20_000
"""Texts remembered unless told otherwise: 30 MB of vectors of 384 dimensions, and the texts."""


class CachedEncoder(CachingEncoder):
    """Encode with `inner` what was not encoded lately in this process."""

    def __init__(self, inner: Encoder, size: int = SIZE) -> None:
        """Start with nothing remembered.

        Args:
            inner: What encodes.
            size: Texts remembered; the one used longest ago is forgotten first. 0 remembers nothing.
        """
        super().__init__(inner)
        self._size = size
        self._rows: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def _recall(self, texts: Sequence[str]) -> Rows:
        with self._lock:
            known = {text: self._rows[text] for text in texts if text in self._rows}
            for text in known:
                self._rows.move_to_end(text)
        return known

    def _remember(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        with self._lock:
            self._rows |= fresh
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)


NOT_IN_NAMES = re.compile(r"[^\w.-]")
KEY_BYTES = 16
ASKED_AT_ONCE = 500
"""Rows of one query: SQLite bounds the number of its variables."""
LOCK_SECONDS = 60.0
"""Longest wait for another process that writes to the file."""


class DiskCachedEncoder(CachingEncoder):
    """Encode with `inner` what was never encoded before. Several processes may use one folder."""

    def __init__(self, inner: Encoder, folder: Path | None = None) -> None:
        """Open the file of the inner encoder's vector space, or make it.

        Args:
            inner: What encodes.
            folder: Where the file stands; None for the user's cache folder.
        """
        super().__init__(inner)
        home = folder or user_cache_path(APPLICATION, appauthor=False) / "vectors"
        home.mkdir(parents=True, exist_ok=True)
        self.file = home / (NOT_IN_NAMES.sub("_", inner.name) + ".sqlite")
        self._lock = Lock()
        self._rows = sqlite3.connect(self.file, check_same_thread=False, timeout=LOCK_SECONDS)
        self._rows.execute("PRAGMA journal_mode=WAL")
        self._rows.execute("PRAGMA synchronous=OFF")  # what a power cut loses is encoded again
        self._rows.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._rows.close()

    def _recall(self, texts: Sequence[str]) -> Rows:
        text_of = {key_of(text): text for text in texts}
        rows: Rows = {}
        with self._lock:
            for part in _parts(list(text_of)):
                marks = ",".join("?" * len(part))
                held = self._rows.execute(f"SELECT key, row FROM vectors WHERE key IN ({marks})", part)
                rows |= {text_of[key]: np.frombuffer(row, dtype=np.float32) for key, row in held}
        return rows

    def _remember(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        kept = [(key_of(text), row.astype(np.float32).tobytes()) for text, row in fresh.items()]
        with self._lock, self._rows:
            self._rows.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", kept)


def key_of(text: str) -> bytes:
    """Hash a text; halves of surrogate pairs count as what they are."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def _parts(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + ASKED_AT_ONCE] for start in range(0, len(keys), ASKED_AT_ONCE))
