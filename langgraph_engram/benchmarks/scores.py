"""Score an answer against the gold one: LoCoMo's official F1, and the F1 of A-Mem's evaluation.

The two differ a lot ("the adoption agencies" for "Adoption agency" is 1.0 in one and 0.4 in the other), so a figure
always says which it is. Stems are the original Porter's; the official code's NLTK stemmer departs from it for a few
words ("skies"). This module does not know where an answer came from.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache

from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Evidence, Frozen, Interval
from langgraph_engram.temporal.find import find_times
from langgraph_engram.temporal.parse import parse_time
from langgraph_engram.text.tokens import STOP_WORDS, stem

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


MOST_LONGER = timedelta(days=31)
BARE_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
"""What a text dates by that names no other time: "It was 2022"."""


def temporal_interval(answer: str, gold: str) -> float:
    """Give 1 for an answer whose dates overlap the gold ones and span at most a month more, else 0.

    A gold answer without a date ("four months") cannot be met: it counts 0.
    """
    named, wanted = dates_named(answer), dates_named(gold)
    if named is None or wanted is None:
        return 0.0
    overlaps = named.start <= wanted.end and wanted.start <= named.end
    return float(overlaps and _length(named) - _length(wanted) <= MOST_LONGER)


def dates_named(text: str) -> Interval | None:
    """Give the span from the first to the last of the dates that `text` names; None where it names none."""
    named = [mention.interval for mention in find_times(text, None)]
    if not named:
        year = BARE_YEAR.search(text)
        return parse_time(year.group(), None) if year else None
    return Interval(start=min(one.start for one in named), end=max(one.end for one in named))


def _length(interval: Interval) -> timedelta:
    return interval.end - interval.start


WORD = re.compile(r"[a-z0-9]+")
TURN_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@lru_cache(maxsize=50_000)
def content_stems(text: str) -> frozenset[str]:
    """Give the distinct content stems: lower case, runs of a-z and 0-9, minus the stop list, Porter-stemmed."""
    return frozenset(stem(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS)


def statements_of(text: str, captions: Sequence[str] = ()) -> list[str]:
    """Give what a turn states: its sentences and captions, in order, without those that have no content stem."""
    stated = [*TURN_SENTENCE_END.split(text), *captions]
    return [one.strip() for one in stated if content_stems(one)]


BUDGETS = (500, 1000, 2000, 4000)
"""Tokens; evidence is measured at each."""


class Passage(Frozen):
    """One piece of evidence as it is shown, and the turns it cites."""

    text: str
    turn_ids: list[str]
    """The data set's own ids; a turn that has none is cited by ours."""
    synthesis: bool = False


def to_passage(evidence: Evidence) -> Passage:
    """Take what is measured of one piece of evidence. Sources that come without their turn are cited all the same."""
    shown = {turn.turn_id: turn.external_id or turn.turn_id for turn in evidence.turns}
    sources = evidence.record.source_turn_ids if evidence.record else []
    cited = shown | {turn_id: turn_id for turn_id in sources if turn_id not in shown}
    return Passage(
        text=evidence.text, turn_ids=list(dict.fromkeys(cited.values())), synthesis=evidence.synthesis_id is not None
    )


def fit_budget(pieces: Sequence[Passage], budget: int) -> list[Passage]:
    """Give the longest ranked prefix whose texts together fit.

    Args:
        pieces: Best first.
        budget: Tokens; each piece counts a token for four characters, rounded up.
    """
    left = budget
    fitting: list[Passage] = []
    for piece in pieces:
        left -= count_tokens(piece.text)
        if left < 0:
            break
        fitting.append(piece)
    return fitting


def fit_budgets(pieces: Sequence[Passage]) -> dict[str, list[Passage]]:
    """Give the prefix for each budget, under the budget's name."""
    return {str(budget): fit_budget(pieces, budget) for budget in BUDGETS}


MOST_CITED = 3
LEAST_SHARE = 0.5

Turns = Mapping[str, Sequence[str]]
"""What turns state, by their ids in the data set: the sentences and captions of each."""


def holds(piece: Passage, turn_id: str, statements: Sequence[str]) -> bool:
    """Tell whether a piece holds a turn.

    Args:
        piece: What was shown.
        turn_id: The turn, as the data set calls it.
        statements: The turn's sentences and captions. A turn that states nothing is held wherever it is cited.
    """
    if piece.synthesis or turn_id not in piece.turn_ids or len(piece.turn_ids) > MOST_CITED:
        return False
    contained = content_stems(piece.text)
    stated = [stems for stems in map(content_stems, statements) if stems]
    return not stated or any(len(stems & contained) >= LEAST_SHARE * len(stems) for stems in stated)


def evidence_recall(pieces: Sequence[Passage], evidence: Turns) -> float | None:
    """Give the share of the evidence turns that some piece holds, in [0, 1]; None for a question without evidence."""
    if not evidence:
        return None
    held = [any(holds(piece, turn_id, stated) for piece in pieces) for turn_id, stated in evidence.items()]
    return sum(held) / len(held)


def all_evidence_recall(pieces: Sequence[Passage], evidence: Turns) -> float | None:
    """Give 1 where every evidence turn is held, else 0; None for a question without evidence."""
    recall = evidence_recall(pieces, evidence)
    return None if recall is None else float(recall == 1)


def session_recall(pieces: Sequence[Passage], evidence: Mapping[str, Turns]) -> float | None:
    """Give the share of the evidence sessions of which some piece holds a turn, in [0, 1]; None without any.

    Args:
        pieces: What was shown.
        evidence: What the turns of each evidence session state, by session and turn id.
    """
    if not evidence:
        return None
    held = [
        any(holds(piece, turn_id, turns[turn_id]) for piece in pieces for turn_id in piece.turn_ids if turn_id in turns)
        for turns in evidence.values()
    ]
    return sum(held) / len(held)


def answer_token_recall(pieces: Sequence[Passage], gold: str) -> float | None:
    """Give the share of the gold answer's distinct content stems that occur in the pieces; None where it has none."""
    wanted = content_stems(gold)
    if not wanted:
        return None
    shown = frozenset().union(*(content_stems(piece.text) for piece in pieces))
    return len(wanted & shown) / len(wanted)
