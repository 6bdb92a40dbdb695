"""Compress texts as LLMLingua-2 does (Pan et al. 2024, arXiv 2403.12968): a small model says which words are needed.

DimMem and StructMem let their extractors read messages so. Nothing heavy is imported before the first `compress`. Texts
without white space, such as Chinese, are one word to this module and stay as they are.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock

from langgraph_engram.compression.token_classifier import TokenClassifier, load_classifier
from langgraph_engram.compression.words import shorten
from langgraph_engram.encoders.minilm_torch import torch_threads
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.settings import LLMLINGUA_2

BATCH = 50
"""Runs of words read side by side (DimMem)."""


class LLMLingua2:
    """Keep the words that a token classifier finds needed. Building one is free; the first `compress` loads it."""

    def __init__(
        self, rate: float, model: str | Path = LLMLINGUA_2, *, device: str | None = None, threads: int | None = 1
    ) -> None:
        """Remember what to load.

        Args:
            rate: Share of a text's words that is kept, in (0, 1].
            model: An LLMLingua-2 model: its name on the hub, or a folder.
            device: "cpu", "cuda", ...; None for CUDA where there is one.
            threads: Threads that torch may use inside an operator on a CPU; None for its own default.

        Raises:
            InvalidSetting: The rate is out of bounds.
        """
        if not 0 < rate <= 1:
            raise InvalidSetting(f"a compression rate of {rate!r} is out of bounds: give one above 0 and up to 1")
        self._rate = rate
        self._model = str(model)
        self._device = device
        self._threads = threads
        self._classifier: TokenClassifier | None = None
        self._busy = Lock()

    def compress(self, texts: Sequence[str]) -> list[str]:
        """Shorten texts. Calls from many threads take turns.

        Returns:
            One for each text, in order: about `rate` of its words, in their order; numbers, dates, names and words that
            deny are always among them. A text without words is given back as it is.

        Raises:
            CompressorUnavailable: The first call found no weights, no torch, or a model of another kind.
        """
        words = [text.split() for text in texts]
        with self._busy:
            if self._classifier is None:
                self._classifier = load_classifier(self._model, self._device)
            with torch_threads(self._threads) if self._threads else nullcontext():
                probabilities = _probabilities(self._classifier, words)
        return [shorten(text, found, self._rate) for text, found in zip(texts, probabilities, strict=True)]


def _probabilities(classifier: TokenClassifier, texts: Sequence[Sequence[str]]) -> list[list[float]]:
    """Give the probability of each word of each text to be kept; texts that are too long are read in chunks."""
    chunks = [(place, words[part]) for place, words in enumerate(texts) if words for part in classifier.chunks(words)]
    read = _read_alike([words for _, words in chunks], classifier)
    found: list[list[float]] = [[] for _ in texts]
    for (place, _), probabilities in zip(chunks, read, strict=True):
        found[place].extend(probabilities)
    return found


def _read_alike(chunks: Sequence[Sequence[str]], classifier: TokenClassifier) -> list[list[float]]:
    """Read chunks in batches of like length, so that little is spent on padding; give what is read in their order."""
    by_length = sorted(range(len(chunks)), key=lambda place: len(chunks[place]))
    found: dict[int, list[float]] = {}
    for start in range(0, len(chunks), BATCH):
        batch = by_length[start : start + BATCH]
        found.update(zip(batch, classifier.probabilities([chunks[place] for place in batch]), strict=True))
    return [found[place] for place in range(len(chunks))]
