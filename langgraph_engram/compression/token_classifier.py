"""Load a model that says of each token whether it is to be kept, from a folder or the hub, and ask it.

Torch and transformers are imported at the first load. Code of a repository is never run.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_engram.compression.chunks import cut_at_word_ends
from langgraph_engram.encoders.minilm_space import readable
from langgraph_engram.errors import CompressorUnavailable

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
