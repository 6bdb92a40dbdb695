"""Score an answer against the gold one: LoCoMo's official F1, and the F1 and BLEU-1 of A-Mem's evaluation.

The two F1 differ a lot ("the adoption agencies" for "Adoption agency" is 1.0 in one and 0.4 in the other), so a figure
always says which it is. Stems are the original Porter's; the official code's NLTK stemmer departs from it for a few
words ("skies").
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from engram_lab.datasets import MULTI_HOP, OPEN_DOMAIN
from langgraph_engram.text.words import stem

ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
PUNCTUATION_TO_SPACE = str.maketrans(".,!?", "    ")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def scored_gold(gold: str, category: int) -> str:
    """Return the part of a gold answer that counts: open-domain answers explain themselves after a semicolon."""
    return gold.split(";")[0].strip() if category == OPEN_DOMAIN else gold


def f1_locomo(answer: str, gold: str, category: int) -> float:
    """Score an answer by LoCoMo's official rule of its category, in [0, 1].

    Multi-hop: both are split at commas, and each gold part counts its best F1 over the answer's parts, averaged.
    Others: one F1; open-domain up to the first semicolon of the gold answer.
    """
    wanted = scored_gold(gold, category)
    if category != MULTI_HOP:
        return _f1(_official_tokens(answer), _official_tokens(wanted))
    answers = [_official_tokens(part) for part in answer.split(",")]
    golds = [_official_tokens(part) for part in wanted.split(",")]
    return sum(max(_f1(answer_part, gold_part) for answer_part in answers) for gold_part in golds) / len(golds)


def f1_amem(answer: str, gold: str) -> float:
    """Score an answer by the F1 over sets of unstemmed words that A-Mem's evaluation uses, in [0, 1]."""
    return _f1(sorted(_plain_words(answer)), sorted(_plain_words(gold)))


def bleu1_amem(answer: str, gold: str) -> float:
    """Return BLEU-1 in [0, 1], by NLTK with smoothing method 1, as A-Mem's evaluation has it."""
    words, wanted = treebank_words(answer.lower()), treebank_words(gold.lower())
    return float(sentence_bleu([wanted], words, weights=(1, 0, 0, 0), smoothing_function=SmoothingFunction().method1))


def treebank_words(text: str) -> list[str]:
    """Split lower-case text into words and marks as Penn Treebank does, sentence by sentence."""
    tokenizer = NLTKWordTokenizer()
    return [word for sentence in SENTENCE_END.split(text.strip()) for word in tokenizer.tokenize(sentence)]


def _f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    shared = sum((Counter(answer) & Counter(gold)).values())
    return 2 * shared / (len(answer) + len(gold)) if shared else 0.0


def _official_tokens(text: str) -> list[str]:
    bare = text.replace(",", "").lower().translate(WITHOUT_PUNCTUATION)
    return [stem(word) for word in ARTICLES.sub(" ", bare).split()]


def _plain_words(text: str) -> set[str]:
    return set(text.lower().translate(PUNCTUATION_TO_SPACE).split())
