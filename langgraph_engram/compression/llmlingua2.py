"""Compress texts as LLMLingua-2 does (Pan et al. 2024, arXiv 2403.12968): a small model says which words are needed.

DimMem and StructMem let their extractors read messages so. Nothing heavy is imported before the first `compress`. Texts
without white space, such as Chinese, are one word to this module and stay as they are.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from threading import Lock
from typing import Any

from langgraph_engram.embeddings.minilm_torch import torch_threads
from langgraph_engram.embeddings.minilm_weights import readable
from langgraph_engram.errors import CompressorUnavailable, InvalidSetting
from langgraph_engram.settings import LLMLINGUA_2
from langgraph_engram.temporal.patterns import FULL_WEEKDAY, MONTH, NUMBERS, ORDINALS
from langgraph_engram.text.tokens import STOP_WORDS
from langgraph_engram.text.tokens import words as plain_words


def cut_at_word_ends(sizes: Sequence[int], room: int) -> list[slice]:
    """Cut words into runs that fit.

    Args:
        sizes: Tokens of each word, in order.
        room: Tokens of a run, at least 1; a word that is longer by itself is a run of its own.

    Returns:
        Slices of the words, in order, none empty, that together hold each word once.
    """
    starts: list[int] = []
    held = 0
    for place, size in enumerate(sizes):
        if not starts or held + size > room:
            starts.append(place)
            held = 0
        held += size
    return [slice(start, end) for start, end in pairwise([*starts, len(sizes)])]


log = logging.getLogger(__name__)

MOST_POSITIONS = 512
"""Tokens read at once, the two marks included, where model and tokenizer allow as many."""
LABELS, KEEP = 2, 1
"""Labels of LLMLingua-2, and which of them says that a token is kept."""
INSTALL = '`pip install "langgraph-engram[compress]"`'


@dataclass(frozen=True)
class TokenClassifier:
    """A tokenizer and its network, on one device."""

    tokenizer: Any
    network: Any
    positions: int
    """Tokens read at once."""

    def chunks(self, words: Sequence[str]) -> list[slice]:
        """Cut words into runs that are read at once."""
        pieces = self.tokenizer([readable(word) for word in words], add_special_tokens=False, verbose=False)
        sizes = [len(one) for one in pieces["input_ids"]]
        return cut_at_word_ends(sizes, self.positions - self.tokenizer.num_special_tokens_to_add())

    def probabilities(self, batch: Sequence[Sequence[str]]) -> list[list[float]]:
        """Give the probability that each word is kept, in [0, 1]: the mean of its tokens (LLMLingua-2, section 4).

        Args:
            batch: Runs of words, each of which fits; of a word that alone does not, the first tokens count.
        """
        import torch

        asked = self.tokenizer(
            [[readable(word) for word in words] for words in batch],
            is_split_into_words=True, padding=True, truncation=True, max_length=self.positions, return_tensors="pt",
        )  # fmt: skip
        with torch.inference_mode():
            logits = self.network(**asked.to(self.network.device)).logits
        kept = logits.float().softmax(dim=-1)[..., KEEP].tolist()
        return [_means(asked.word_ids(place), kept[place], len(words)) for place, words in enumerate(batch)]


def _means(owners: Sequence[int | None], kept: Sequence[float], count: int) -> list[float]:
    """Average the probabilities of tokens over the words that own them; a word without tokens says nothing."""
    tokens: list[list[float]] = [[] for _ in range(count)]
    for owner, probability in zip(owners, kept, strict=True):
        if owner is not None:
            tokens[owner].append(probability)
    return [sum(one) / len(one) if one else 0.0 for one in tokens]


def load_classifier(name: str, device: str | None) -> TokenClassifier:
    """Load a token classifier; the network is used only where this machine does not hold it.

    Args:
        name: A folder, or a name on the hub.
        device: "cpu", "cuda", ...; None for CUDA where there is one.

    Raises:
        CompressorUnavailable: A package is missing, nothing of that name can be read, or it is of another kind.
    """
    try:
        import torch
        import transformers  # noqa: F401 - that it is there
    except ImportError as error:
        raise CompressorUnavailable(f"the package {error.name!r} is missing: {INSTALL}") from error
    with quiet():
        tokenizer, network = _read(name)
    _check(name, tokenizer, network)
    network.eval().to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    positions = min(MOST_POSITIONS, tokenizer.model_max_length, network.config.max_position_embeddings)
    return TokenClassifier(tokenizer, network, positions)


def _read(name: str) -> tuple[Any, Any]:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _pretrained(str(folder), here=True)
    try:
        return _pretrained(name, here=True)
    except CompressorUnavailable:
        log.info("fetching %s from the hub", name)
        return _pretrained(name, here=False)


def _pretrained(name: str, *, here: bool) -> tuple[Any, Any]:
    from safetensors import SafetensorError
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=here)
        network, told = AutoModelForTokenClassification.from_pretrained(
            name, local_files_only=here, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise CompressorUnavailable(
            f"cannot read the compressor {name!r}: {reason}; give a folder that holds it as extract.compress_model, "
            "or leave extract.compress_rate empty"
        ) from error
    if told["missing_keys"]:
        raise CompressorUnavailable(f"{name!r} has no weights for {sorted(told['missing_keys'])}: give another model")
    return tokenizer, network


def _check(name: str, tokenizer: Any, network: Any) -> None:
    if network.config.num_labels != LABELS or not tokenizer.is_fast:
        raise CompressorUnavailable(
            f"{name!r} is no LLMLingua-2 model: it has {network.config.num_labels} labels where {LABELS} are needed, "
            "or no fast tokenizer; give another as extract.compress_model"
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Load without progress bars, and leave them as they were found."""
    from transformers.utils import logging as progress

    shown = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    try:
        yield
    finally:
        if shown:
            progress.enable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped


NUMBER_WORDS = frozenset(NUMBERS) - frozenset("a an another".split()) | frozenset(
    "hundred zero half dozen once twice seventy eighty ninety thousand million billion".split()
)
DATE_NAME = re.compile(rf"{FULL_WEEKDAY}|{MONTH}", re.IGNORECASE)
DENIALS = frozenset(
    "no not never nobody nothing nowhere none neither nor without cannot hardly dont didnt doesnt isnt arent "
    "wasnt werent havent hasnt hadnt wont wouldnt cant couldnt shouldnt".split()
)
CONTRACTED_DENIALS = ("n't", "n’t")
OPENERS = STOP_WORDS - {"will"}
"""Words whose capital at the start of a text is no name's."""
OPENING, CLOSING = "([", ")]"


def shorten(text: str, probabilities: Sequence[float], rate: float) -> str:
    """Leave out the words of a text that are least likely to be needed.

    Args:
        text: Words between white space.
        probabilities: Of each word, in [0, 1], in order, that it is to be kept.
        rate: Share of words to keep, in (0, 1]; more are kept where more must be.

    Returns:
        The words kept, in order, a space between them; the text itself where they would say nothing.
    """
    words = text.split()
    kept = " ".join(words[place] for place in kept_places(words, probabilities, rate))
    return kept if any(letter.isalnum() for letter in kept) else text


def kept_places(words: Sequence[str], probabilities: Sequence[float], rate: float) -> list[int]:
    """Give the places of the words above the (1 - rate) quantile of probability, in order.

    Words that must stay count as certain, and where they alone are more than the share, they are what is kept. Of words
    that are equally likely the earlier are kept.
    """
    if len(words) != len(probabilities):
        raise ValueError(f"{len(words)} words have {len(probabilities)} probabilities: give one each")
    certain = must_stay(words)
    likeliest = sorted(range(len(words)), key=lambda place: (not certain[place], -probabilities[place], place))
    return sorted(likeliest[: max(ceil(rate * len(words)), sum(certain))])


def must_stay(words: Sequence[str]) -> list[bool]:
    """Say of each word of a text whether it stays in any case."""
    dated = _in_numbered_brackets(words)
    return [_tells(word, place == 0) or place in dated for place, word in enumerate(words)]


def _tells(word: str, opens: bool) -> bool:
    parts = plain_words(word)
    return (
        any(letter.isdigit() for letter in word)
        or any(part in NUMBER_WORDS or part in ORDINALS or part in DENIALS for part in parts)
        or any(DATE_NAME.fullmatch(part) for part in parts)
        or any(ending in word.casefold() for ending in CONTRACTED_DENIALS)
        or "?" in word
        or _is_name(word, parts, opens)
    )


def _is_name(word: str, parts: Sequence[str], opens: bool) -> bool:
    """Say whether a word has a capital that neither the start of a text nor "I" accounts for."""
    if not any(letter.isupper() for letter in word) or parts[:1] == ["i"]:
        return False
    acronym = word.isupper() and sum(letter.isalpha() for letter in word) > 1
    return acronym or not opens or not OPENERS.issuperset(parts)


def _in_numbered_brackets(words: Sequence[str]) -> set[int]:
    """Give the places of words in brackets that hold a number: a time written out stays whole."""
    found: set[int] = set()
    begun: int | None = None
    for place, word in enumerate(words):
        if begun is None and any(bracket in word for bracket in OPENING):
            begun = place
        if begun is not None and any(bracket in word for bracket in CLOSING):
            inside = range(begun, place + 1)
            found.update(inside if any(letter.isdigit() for one in inside for letter in words[one]) else ())
            begun = None
    return found


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
