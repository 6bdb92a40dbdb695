"""Score an answer against the gold one: LoCoMo's official F1, and the F1 of A-Mem's evaluation.

The two differ a lot ("the adoption agencies" for "Adoption agency" is 1.0 in one and 0.4 in the other), so a figure
always says which it is. Stems are the original Porter's; the official code's NLTK stemmer departs from it for a few
words ("skies"). This module does not know where an answer came from.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

from langgraph_engram.language.tokens import stem

MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP = 1, 2, 3, 4
"""LoCoMo's category numbers."""
CATEGORIES = (MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP)
"""Those that are measured: the fifth, adversarial questions, stays out as in all four papers."""
ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
PUNCTUATION_TO_SPACE = str.maketrans(".,!?", "    ")


def scored_gold(gold: str, category: int) -> str:
    """Give the part of a gold answer that counts: open-domain answers explain themselves after a semicolon."""
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
    return sum(max(_f1(one, part) for one in answers) for part in golds) / len(golds)


def f1_amem(answer: str, gold: str) -> float:
    """Score an answer by the F1 over sets of unstemmed words that A-Mem's evaluation uses, in [0, 1]."""
    return _f1(sorted(_plain_words(answer)), sorted(_plain_words(gold)))


def _f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    shared = sum((Counter(answer) & Counter(gold)).values())
    return 2 * shared / (len(answer) + len(gold)) if shared else 0.0


def _official_tokens(text: str) -> list[str]:
    bare = text.replace(",", "").lower().translate(WITHOUT_PUNCTUATION)
    return [stem(word) for word in ARTICLES.sub(" ", bare).split()]


def _plain_words(text: str) -> set[str]:
    return set(text.lower().translate(PUNCTUATION_TO_SPACE).split())
