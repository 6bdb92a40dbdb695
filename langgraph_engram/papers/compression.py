"""Shorten what an extraction model reads, as DimMem (section 3.2) and StructMem may (docs/decisions/0020)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from langgraph_engram.errors import MissingExtra
from langgraph_engram.paper_settings import CompressedReading
from langgraph_engram.schema import Turn
from langgraph_engram.text.sentences import split_sentences


@dataclass(frozen=True)
class Compressor:
    """Leave out of turns the words that say least, by LLMLingua-2 (docs/decisions/0020)."""

    settings: CompressedReading

    def __post_init__(self) -> None:
        if find_spec("llmlingua") is None:
            raise MissingExtra("paper.compression needs LLMLingua: pip install 'langgraph-engram[compression]'")

    @cached_property
    def _library(self) -> Any:
        name, options = self.settings.compression_model, {"trust_remote_code": False}
        return import_module("llmlingua").PromptCompressor(name, "cpu", options, use_llmlingua2=True)

    def __call__(self, turns: Sequence[Turn]) -> dict[str, Turn]:
        """Return turns of fewer words by id, each of as many sentences; without those that have then others."""
        turns = [turn for turn in turns if turn.text.strip()]
        said = [[" ".join(sentence.split()) for sentence in split_sentences(turn.text)] for turn in turns]
        texts, rate = ["\n".join(sentences) for sentences in said], self.settings.compression
        options: dict[str, Any] = {"use_context_level_filter": False, "force_tokens": ["\n", ".", "!", "?"]}
        left = self._library.compress_prompt(texts, rate=rate, **options)["compressed_prompt_list"]
        shortened = {}
        for turn, sentences, text in zip(turns, said, left, strict=True):
            pairs = zip(sentences, map(str.strip, text.split("\n")), strict=False)
            kept = [short if any(map(str.isalnum, short)) else sentence for sentence, short in pairs]
            if len(kept) == len(sentences) and split_sentences("\n".join(kept)) == kept:
                shortened[turn.turn_id] = turn.model_copy(update={"text": "\n".join(kept)})
        return shortened
