"""Score an answer by BLEU-1 as A-Mem's evaluation does: NLTK's `sentence_bleu`, weights (1, 0, 0, 0), method 1.

Words are cut by the Penn Treebank rules that NLTK's `word_tokenize` follows. Sentences are cut at a mark that is
followed by space, where NLTK asks a trained model: the two differ after abbreviations alone. This module does not
know where an answer came from.
"""

import math
import re
from collections import Counter

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
TREEBANK = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"([«“‘„]|`+)", r" \1 "),
        (r'^"', r" `` "),
        (r"([ (\[{<])(\"|'{2})", r"\1 `` "),
        (r"(?<!\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", r"\1 "),
        (r"([^.])(\.)([\])}>\"'»”’ ]*)\s*$", r"\1 \2 \3 "),
        (r"([:,])(?=\D)|([:,])$", r" \1\2 "),
        (r"\.{2,}|[;@#$%&?!*\u2012-\u2015]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"[\]\[(){}<>]|--", r" \g<0> "),
        (r"$", " "),
        (r"[»”’]", r" \g<0> "),
        (r"''|\"", " '' "),
        (r"\s+", " "),
        (r"([^' ])('[smd]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'re|'ve|n't) ", r"\1 \2 "),
        (r"\b(can)(not)\b|\b(gim)(me)\b|\b(gon)(na)\b|\b(got)(ta)\b|\b(lem)(me)\b|\b(wan)(na)(?=\s)", "SPLIT"),
    ]
]
"""Penn Treebank's cuts, in order, for lower-case text; the last pairs two words that are written as one."""


def bleu1_amem(answer: str, gold: str) -> float:
    """Give BLEU-1 in [0, 1]: the share of the answer's words that the gold one has, times a penalty for brevity.

    Smoothing method 1 only fills empty counts of longer n-grams, which weigh nothing here.
    """
    words, wanted = treebank_words(answer.lower()), treebank_words(gold.lower())
    shared = sum((Counter(words) & Counter(wanted)).values())
    if not shared:
        return 0.0
    brevity = 1.0 if len(words) > len(wanted) else math.exp(1 - len(wanted) / len(words))
    return brevity * shared / len(words)


def treebank_words(text: str) -> list[str]:
    """Cut lower-case text into words and marks, sentence by sentence."""
    return [word for sentence in SENTENCE_END.split(text.strip()) for word in _cut(sentence)]


def _cut(sentence: str) -> list[str]:
    for pattern, replacement in TREEBANK[:-1]:
        sentence = pattern.sub(replacement, sentence)
    return TREEBANK[-1][0].sub(_apart, sentence).split()


def _apart(match: re.Match[str]) -> str:
    return " ".join(["", *filter(None, match.groups()), ""])
