"""Open what a bench names: models, encoders, whose vectors may be cached on disk, and memories in the folders of a run.

What it does not name comes from the variables of its context: `ENGRAM_*`, and `engram.toml` in their place.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Lock

import numpy as np
from platformdirs import user_cache_path

from engram_lab.ablations import without as left_out
from engram_lab.harness import Setup
from engram_lab.replay import ReplayModel
from engram_lab.resume import recording_of
from langgraph_engram.config import SETTINGS_VARIABLE, Configuration, resolve, resolve_chat, resolve_model
from langgraph_engram.embeddings.base import CachingEncoder, Encoder, ReadingEncoder, Vectors
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.llm.base import Model
from langgraph_engram.memory import Memory
from langgraph_engram.paper_settings import CompressedReading
from langgraph_engram.papers import read_parts
from langgraph_engram.papers.compression import Compressor
from langgraph_engram.presets import changed
from langgraph_engram.settings import Settings

SHORT_ANSWERS = ("locomo", "longmemeval")
"""The data sets whose right answers are a few words; those of the others are as long as a question asks for."""
NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]")
KEY_BYTES = 16
LOCK_SECONDS = 60.0
"""Longest wait for another process that writes to the file."""


@dataclass(frozen=True)
class Opener:
    """Opens what a command names; what it does not name comes from variables."""

    variables: Mapping[str, str]

    def configuration(
        self, model: str | None = None, preset: str | None = None, dataset: str | None = None
    ) -> Configuration:
        """Return what is chosen by options, by variables or by default."""
        return resolve(None, model, preset, None, dataset, environment=self.variables)

    def settings(self, preset: str | None, without: Sequence[str] | None = None, data: str | None = None) -> Settings:
        """Return the settings that a preset has for a data set, without some parts."""
        return left_out(self.configuration(preset=preset, dataset=data).settings, without or ())

    def model(self, name: str | None, **chat: object) -> Model:
        """Open a model."""
        called = resolve_chat(environment=self.variables).model_copy(update=chat)
        return resolve_model(self._named(name).model, called)

    def encoder(self, name: str | None = None, *, keep: bool = False, vectors: Path | None = None) -> Encoder:
        """Open an encoder, once for all memories of a run; its vectors are kept in a folder, where one is named."""
        opened = open_encoder(name or self._named().encoder)
        return CachingEncoder(VectorCache(opened.inner, vectors)) if keep or vectors else opened

    def compressor(self, share: float, weights: str | None) -> Compressor:
        """Open what shortens turns, by the weights of DimMem unless others are named."""
        named = {"compression_model": weights} if weights else {}
        return Compressor(CompressedReading.model_validate({"compression": share, **named}))

    def memory(self, folder: str, model: str | Model, settings: Settings, encoder: Encoder) -> Memory:
        """Open a memory in a folder."""
        chat = resolve_chat(environment=self.variables)
        return Memory(folder, model, settings.preset, encoder=encoder, settings=settings, chat=chat)

    def _named(self, model: str | None = None) -> Configuration:
        """Return what is chosen whatever the settings of a preset are: those of a paper fit no other."""
        chosen = {name: value for name, value in self.variables.items() if name != SETTINGS_VARIABLE}
        return resolve(None, model, None, None, environment=chosen)

    def setup(
        self,
        dataset: str,
        preset: str | None,
        writer: str | None,
        reader: str | None,
        encoder: Encoder,
        without: Sequence[str] | None = None,
    ) -> Setup:
        """Open the models of a run on a data set, and say what it is made with."""
        settings = left_out(self.configuration(writer, preset, dataset).settings, without or ())
        if dataset in SHORT_ANSWERS and settings.answer.style == "auto" and settings.paper is None:
            settings = changed(settings, "answer", style="short")
        writing = self.model(writer)
        reading = writing if writer == reader else self.model(reader)

        def open_writer(folder: str) -> Memory:
            """Open a memory whose model gives again what it answered before a run was cut short."""
            replayed = ReplayModel(recording_of(folder), writing, continues=True)
            return self.memory(folder, writing if writing.by_rules else replayed, settings, encoder)

        chat = resolve_chat(environment=self.variables).model_dump(include={"temperature", "max_completion_tokens"})
        return Setup(
            open_writer,
            lambda folder: self.memory(folder, reading, settings, encoder),
            preset=settings.preset,
            writer=writing.name,
            reader=reading.name,
            encoder=encoder.name,
            intent_model=reading if settings.retrieve.intent == "model" and not reading.by_rules else None,
            intent_rules=read_parts(encoder, settings).intent_rules,
            settings={**settings.model_dump(mode="json"), "without": list(without or ()), **chat},
        )


class VectorCache:
    """Keep vectors in an SQLite file, under the hashes of their texts. Several processes may share a folder."""

    def __init__(self, inner: Encoder, folder: Path | None = None) -> None:
        """Open the file of the inner encoder's vector space, or create it."""
        self.inner = inner
        self.name = inner.name
        if isinstance(inner, ReadingEncoder):
            self.encode_as = inner.encode_as  # not kept
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
