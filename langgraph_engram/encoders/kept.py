"""Keep the vectors of texts on disk from one process to the next, so that a benchmark run again encodes nothing again.

A row is found by the hash of its text, in a file of its vector space: the encoder's name, of which its weights' hash is
part. No text is kept. What users remember does not go here: this is for data that is measured again and again.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from langgraph_engram.encoder import Encoder
from langgraph_engram.encoders.minilm_graph import APPLICATION
from langgraph_engram.encoders.remembering import RememberingEncoder, Rows

NOT_IN_NAMES = re.compile(r"[^\w.-]")
KEY_BYTES = 16
ASKED_AT_ONCE = 500
"""Rows of one query: SQLite bounds the number of its variables."""
LOCK_SECONDS = 60.0
"""Longest wait for another process that writes to the file."""


class KeptEncoder(RememberingEncoder):
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
