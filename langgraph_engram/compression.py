"""Compress texts before a model reads them: the port, and LLMLingua-2 (Pan et al. 2024, arXiv 2403.12968)."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from langgraph_engram.embeddings.minilm_torch import torch_threads
from langgraph_engram.embeddings.minilm_weights import replace_surrogates
from langgraph_engram.errors import CompressorUnavailable, InvalidSetting
from langgraph_engram.settings import LLMLINGUA_2
from langgraph_engram.temporal.patterns import FULL_WEEKDAY, MONTH, NUMBERS, ORDINALS
from langgraph_engram.text.tokens import STOP_WORDS
from langgraph_engram.text.tokens import words as plain_words


class Compressor(Protocol):
    """Leave out words that a reader does not need."""

    def compress(self, texts: Sequence[str]) -> list[str]:
        """Shorten texts.

        Returns:
            A shorter text for each text, in order: some of its words, in their order. A text that has words keeps
            some; a text without words stays as it is.

        Raises:
            CompressorUnavailable: The first call found no weights or lacks a package.
        """


LOG = logging.getLogger(__name__)
MAX_POSITIONS = 512
"""Tokens of a chunk, the two markers included, if model and tokenizer allow as many."""
LABELS, KEEP = 2, 1
"""The number of labels of LLMLingua-2, and the one for tokens to keep."""
INSTALL = '`pip install "langgraph-engram[compress]"`'
NUMBER_WORDS = frozenset(NUMBERS) - frozenset("a an another".split()) | frozenset(
    "hundred zero half dozen once twice seventy eighty ninety thousand million billion".split()
)
DATE_NAME = re.compile(rf"{FULL_WEEKDAY}|{MONTH}", re.IGNORECASE)
NEGATIONS = frozenset(
    "no not never nobody nothing nowhere none neither nor without cannot hardly dont didnt doesnt isnt wasnt wont "
    "arent werent havent hasnt hadnt wouldnt shouldnt cant couldnt".split()
)
CONTRACTED_NEGATIONS = ("n't", "n’t")
NOT_NAMES = STOP_WORDS - {"will"}
"""Words that are no names if they stand capitalised at the start of a text."""
OPENING, CLOSING = "([", ")]"
BATCH = 50
"""Chunks classified at once, as in DimMem."""


class LLMLingua2:
    """Keep the words that a token classifier finds necessary. The first `compress` loads it."""

    def __init__(
        self, rate: float, model: str | Path = LLMLINGUA_2, *, device: str | None = None, threads: int | None = 1
    ) -> None:
        """Create a compressor; nothing is loaded yet.

        Args:
            rate: Share of a text's words to keep, in (0, 1].
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
        self._lock = Lock()

    def compress(self, texts: Sequence[str]) -> list[str]:
        """Shorten texts. Calls from many threads take turns.

        Returns:
            A shorter text for each text, in order: about `rate` of its words, in their order; numbers, dates, names and
            negations are always among them. A text without words stays as it is.

        Raises:
            CompressorUnavailable: The first call found no weights, no torch, or no LLMLingua-2 model.
        """
        words = [text.split() for text in texts]
        with self._lock:
            if self._classifier is None:
                self._classifier = load_classifier(self._model, self._device)
            with torch_threads(self._threads) if self._threads else nullcontext():
                probabilities = _probabilities(self._classifier, words)
        return [shorten(text, found, self._rate) for text, found in zip(texts, probabilities, strict=True)]


@dataclass(frozen=True)
class TokenClassifier:
    """A tokenizer and its network, on one device."""

    tokenizer: Any
    network: Any
    positions: int
    """Tokens of a chunk."""

    def chunks(self, words: Sequence[str]) -> list[slice]:
        """Split words into chunks that fit the network."""
        tokens = self.tokenizer([replace_surrogates(word) for word in words], add_special_tokens=False, verbose=False)
        sizes = [len(ids) for ids in tokens["input_ids"]]
        return split_at_words(sizes, self.positions - self.tokenizer.num_special_tokens_to_add())

    def probabilities(self, batch: Sequence[Sequence[str]]) -> list[list[float]]:
        """Return the probability that each word is kept, in [0, 1]: the mean of its tokens (LLMLingua-2, section 4).

        Args:
            batch: Chunks of words. Of a word that does not fit by itself, the first tokens count.
        """
        import torch

        encoded = self.tokenizer(
            [[replace_surrogates(word) for word in words] for words in batch],
            is_split_into_words=True, padding=True, truncation=True, max_length=self.positions, return_tensors="pt",
        )  # fmt: skip
        with torch.inference_mode():
            logits = self.network(**encoded.to(self.network.device)).logits
        kept = logits.float().softmax(dim=-1)[..., KEEP].tolist()
        return [_mean_by_word(encoded.word_ids(index), kept[index], len(words)) for index, words in enumerate(batch)]


def load_classifier(name: str, device: str | None) -> TokenClassifier:
    """Load a token classifier; it is downloaded only if it is not on this machine.

    Args:
        name: A folder, or a name on the hub.
        device: "cpu", "cuda", ...; None for CUDA where there is one.

    Raises:
        CompressorUnavailable: A package is missing, no model of that name can be read, or it is no LLMLingua-2 model.
    """
    try:
        import torch
        import transformers  # noqa: F401 - whether it is installed
    except ImportError as error:
        raise CompressorUnavailable(f"the package {error.name!r} is missing: {INSTALL}") from error
    with _no_progress_bars():
        tokenizer, network = _find(name)
    _check(name, tokenizer, network)
    network.eval().to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    positions = min(MAX_POSITIONS, tokenizer.model_max_length, network.config.max_position_embeddings)
    return TokenClassifier(tokenizer, network, positions)


def split_at_words(sizes: Sequence[int], limit: int) -> list[slice]:
    """Split words into chunks that fit.

    Args:
        sizes: Tokens of each word, in order.
        limit: Tokens of a chunk, at least 1; a longer word is a chunk of its own.

    Returns:
        Slices of the words, in order, none empty, that together hold each word once.
    """
    starts: list[int] = []
    total = 0
    for index, size in enumerate(sizes):
        if not starts or total + size > limit:
            starts.append(index)
            total = 0
        total += size
    return [slice(start, end) for start, end in pairwise([*starts, len(sizes)])]


def shorten(text: str, probabilities: Sequence[float], rate: float) -> str:
    """Leave out the words of a text that are least likely to be needed.

    Args:
        text: Words between white space.
        probabilities: Of each word, in order, the probability in [0, 1] that it is needed.
        rate: Share of words to keep, in (0, 1]; more are kept if more must stay.

    Returns:
        The words kept, in order, joined by spaces; the text itself if no letter or digit would be left.
    """
    words = text.split()
    kept = " ".join(words[index] for index in kept_indices(words, probabilities, rate))
    return kept if any(character.isalnum() for character in kept) else text


def kept_indices(words: Sequence[str], probabilities: Sequence[float], rate: float) -> list[int]:
    """Return the indices of the words above the (1 - rate) quantile of probability, in order.

    Words that must stay count as certain, even if they alone exceed the share. Of equally likely words the earlier are
    kept.
    """
    if len(words) != len(probabilities):
        raise ValueError(f"{len(words)} words have {len(probabilities)} probabilities: give one each")
    certain = must_stay(words)
    likeliest = sorted(range(len(words)), key=lambda index: (not certain[index], -probabilities[index], index))
    return sorted(likeliest[: max(ceil(rate * len(words)), sum(certain))])


def must_stay(words: Sequence[str]) -> list[bool]:
    """Return, for each word of a text, whether it always stays."""
    bracketed = _in_numbered_brackets(words)
    return [_is_essential(word, index == 0) or index in bracketed for index, word in enumerate(words)]


def _is_essential(word: str, is_first: bool) -> bool:
    parts = plain_words(word)
    return (
        any(character.isdigit() for character in word)
        or any(part in NUMBER_WORDS or part in ORDINALS or part in NEGATIONS for part in parts)
        or any(DATE_NAME.fullmatch(part) for part in parts)
        or any(ending in word.casefold() for ending in CONTRACTED_NEGATIONS)
        or "?" in word
        or _is_name(word, parts, is_first)
    )


def _is_name(word: str, parts: Sequence[str], is_first: bool) -> bool:
    """Return whether a word has a capital that is due neither to the start of a text nor to "I"."""
    if not any(letter.isupper() for letter in word) or parts[:1] == ["i"]:
        return False
    acronym = word.isupper() and sum(letter.isalpha() for letter in word) > 1
    return acronym or not is_first or not NOT_NAMES.issuperset(parts)


def _in_numbered_brackets(words: Sequence[str]) -> set[int]:
    """Return the indices of words in brackets that hold a number: a resolved time stays whole."""
    indices: set[int] = set()
    start: int | None = None
    for index, word in enumerate(words):
        if start is None and any(bracket in word for bracket in OPENING):
            start = index
        if start is not None and any(bracket in word for bracket in CLOSING):
            if any(character.isdigit() for inner in words[start : index + 1] for character in inner):
                indices.update(range(start, index + 1))
            start = None
    return indices


def _probabilities(classifier: TokenClassifier, texts: Sequence[Sequence[str]]) -> list[list[float]]:
    """Return the probability of each word of each text; texts that are too long are classified in chunks."""
    chunks = [(index, words[part]) for index, words in enumerate(texts) if words for part in classifier.chunks(words)]
    by_chunk = _classify([words for _, words in chunks], classifier)
    by_text: list[list[float]] = [[] for _ in texts]
    for (index, _), probabilities in zip(chunks, by_chunk, strict=True):
        by_text[index].extend(probabilities)
    return by_text


def _classify(chunks: Sequence[Sequence[str]], classifier: TokenClassifier) -> list[list[float]]:
    """Classify chunks, in order, in batches of similar lengths that need little padding."""
    by_length = sorted(range(len(chunks)), key=lambda index: len(chunks[index]))
    found: dict[int, list[float]] = {}
    for start in range(0, len(chunks), BATCH):
        batch = by_length[start : start + BATCH]
        found.update(zip(batch, classifier.probabilities([chunks[index] for index in batch]), strict=True))
    return [found[index] for index in range(len(chunks))]


def _mean_by_word(word_ids: Sequence[int | None], kept: Sequence[float], count: int) -> list[float]:
    """Return the mean probability of each word's tokens; 0 for a word without tokens."""
    by_word: list[list[float]] = [[] for _ in range(count)]
    for word, probability in zip(word_ids, kept, strict=True):
        if word is not None:
            by_word[word].append(probability)
    return [sum(probabilities) / len(probabilities) if probabilities else 0.0 for probabilities in by_word]


def _find(name: str) -> tuple[Any, Any]:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _load(str(folder), local=True)
    try:
        return _load(name, local=True)
    except CompressorUnavailable:
        LOG.info("downloading %s from the hub", name)
        return _load(name, local=False)


def _load(name: str, *, local: bool) -> tuple[Any, Any]:
    from safetensors import SafetensorError
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=local)
        network, info = AutoModelForTokenClassification.from_pretrained(
            name, local_files_only=local, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise CompressorUnavailable(
            f"cannot read the compressor {name!r}: {reason}; give a folder that holds it as extract.compress_model, "
            "or leave extract.compress_rate empty"
        ) from error
    if info["missing_keys"]:
        raise CompressorUnavailable(f"{name!r} has no weights for {sorted(info['missing_keys'])}: give another model")
    return tokenizer, network


def _check(name: str, tokenizer: Any, network: Any) -> None:
    if network.config.num_labels != LABELS or not tokenizer.is_fast:
        raise CompressorUnavailable(
            f"{name!r} is no LLMLingua-2 model: it has {network.config.num_labels} labels where {LABELS} are needed, "
            "or no fast tokenizer; give another as extract.compress_model"
        )


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Hide progress bars within this context."""
    from transformers.utils import logging as progress

    shown = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    try:
        yield
    finally:
        if shown:
            progress.enable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
