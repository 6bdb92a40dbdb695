"""Open what a bench names: models, encoders, and memories in the folders of a run.

What it does not name comes from the variables of its context: `ENGRAM_*`, and `engram.toml` in their place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engram_lab.ablations import without as left_out
from engram_lab.harness import Setup
from engram_lab.replay import ReplayModel
from engram_lab.resume import recording_of
from engram_lab.vector_cache import VectorCache
from langgraph_engram.config import Configuration, resolve, resolve_chat, resolve_model
from langgraph_engram.embeddings.base import CachingEncoder, Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.llm.base import Model
from langgraph_engram.memory import Memory
from langgraph_engram.presets import changed
from langgraph_engram.settings import Settings

SHORT_ANSWERS = ("locomo", "longmemeval")
"""The data sets whose right answers are a few words; those of the others are as long as a question asks for."""


@dataclass(frozen=True)
class Opener:
    """Opens what a command names; what it does not name comes from variables."""

    variables: Mapping[str, str]

    def configuration(
        self, model: str | None = None, preset: str | None = None, dataset: str | None = None
    ) -> Configuration:
        """Return what is chosen by options, by variables or by default."""
        return resolve(None, model, preset, None, dataset, environment=self.variables)

    def settings(self, preset: str | None, without: Sequence[str] | None = None) -> Settings:
        """Return the settings of a preset, without some parts."""
        return left_out(self.configuration(preset=preset).settings, without or ())

    def model(self, name: str | None, **chat: object) -> Model:
        """Open a model."""
        called = resolve_chat(environment=self.variables).model_copy(update=chat)
        return resolve_model(self.configuration(name).model, called)

    def encoder(self, name: str | None = None, *, keep: bool = False, vectors: Path | None = None) -> Encoder:
        """Open an encoder, once for all memories of a run; its vectors are kept in a folder, where one is named."""
        opened = open_encoder(name or self.configuration().encoder)
        return CachingEncoder(VectorCache(opened.inner, vectors)) if keep or vectors else opened

    def memory(self, folder: str, model: str | Model, settings: Settings, encoder: Encoder) -> Memory:
        """Open a memory in a folder."""
        chat = resolve_chat(environment=self.variables)
        return Memory(folder, model, settings.preset, encoder=encoder, settings=settings, chat=chat)

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

        chat = resolve_chat(environment=self.variables)
        made_with = {"temperature": chat.temperature, "max_completion_tokens": chat.max_completion_tokens}
        return Setup(
            open_writer,
            lambda folder: self.memory(folder, reading, settings, encoder),
            preset=settings.preset,
            writer=writing.name,
            reader=reading.name,
            encoder=encoder.name,
            intent_model=reading if settings.retrieve.intent == "model" and not reading.by_rules else None,
            settings={**settings.model_dump(mode="json"), "without": list(without or ()), **made_with},
        )
