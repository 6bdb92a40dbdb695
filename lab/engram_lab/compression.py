"""Compress texts by LLMLingua-2 (Pan et al. 2024, arXiv 2403.12968), a token classifier of transformers.

Not by the package `llmlingua`: it fetches a tokenizer of OpenAI's when opened, and lets negations be left out.
"""

import re
from collections.abc import Sequence
from math import ceil
from threading import Lock
from typing import Any, Protocol

import numpy as np

from langgraph_engram.errors import EngramError

LLMLINGUA_2 = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"
"""The compressor of DimMem and StructMem, by its name on the Hugging Face hub."""

ESSENTIAL = re.compile(r"[\dA-Z()\[\]?]|n['’]t\b|^(no|not|never|nobody|nothing|none|neither|nor|without|cannot)\b")
"""In a word that always stays: a number, a name, a resolved time in brackets, a question, a negation."""
MAX_TOKENS = 512


class CompressorUnavailable(EngramError, RuntimeError):
    """Weights or a package of the compressor are missing or wrong."""


class Compressor(Protocol):
    """Leave out words that a reader does not need."""

    def compress(self, texts: Sequence[str]) -> list[str]:
        """Return some words of each text, in order; raise `CompressorUnavailable` where they cannot be chosen."""


class LLMLingua2:
    """Keep a share `rate` of words, in (0, 1], that a model of the hub or of a folder finds necessary.

    The first `compress` loads it; calls take turns.
    """

    def __init__(self, rate: float, model: str = LLMLINGUA_2) -> None:
        self._rate, self._model, self._lock = rate, model, Lock()
        self._classifier: tuple[Any, Any] | None = None

    def compress(self, texts: Sequence[str]) -> list[str]:
        """Return about `rate` of each text's words, with all essential ones."""
        with self._lock:
            self._classifier = self._classifier or _load(self._model)
            return [shorten(text, probabilities(text.split(), *self._classifier), self._rate) for text in texts]


def shorten(text: str, likely: Sequence[float], rate: float) -> str:
    """Return the likeliest share of a text's words, and all essential ones, in order; the text if it has no words."""
    words = text.split()
    certain = [bool(ESSENTIAL.search(word)) for word in words]
    order = sorted(range(len(words)), key=lambda index: (not certain[index], -likely[index], index))
    kept = order[: max(ceil(rate * len(words)), sum(certain))]
    return " ".join(words[index] for index in sorted(kept)) or text


def probabilities(words: Sequence[str], tokenizer: Any, network: Any) -> list[float]:
    """Return the probability that each word is kept: the mean of its tokens (LLMLingua-2, section 4), 0 without any."""
    readable = [word.encode("utf-8", "replace").decode() for word in words]
    chunks = tokenizer(
        readable or [""], is_split_into_words=True, padding=True, truncation=True, return_overflowing_tokens=True,
        max_length=min(MAX_TOKENS, network.config.max_position_embeddings), return_tensors="pt",
    )  # fmt: skip
    chunks.pop("overflow_to_sample_mapping")
    kept = network(**chunks).logits.detach().float().softmax(dim=-1)[..., 1].flatten().numpy()
    of_token = [word for row in range(len(chunks["input_ids"])) for word in chunks.word_ids(row)]
    of_word = np.array([-1 if word is None else word for word in of_token]) + 1  # 0 for tokens of no word
    totals = np.bincount(of_word, kept, minlength=len(words) + 1)
    return list(totals[1:] / np.maximum(np.bincount(of_word, minlength=len(words) + 1)[1:], 1))


def _load(name: str) -> tuple[Any, Any]:
    from safetensors import SafetensorError
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        network, info = AutoModelForTokenClassification.from_pretrained(name, output_loading_info=True)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise CompressorUnavailable(f"cannot read the compressor {name!r}: {error}; give its folder") from error
    if info["missing_keys"] or network.config.num_labels != 2:
        raise CompressorUnavailable(f"{name!r} is no LLMLingua-2 model: it has no classifier of two labels")
    return tokenizer, network
