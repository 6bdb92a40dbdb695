"""Rank sentences of evidence by how well each answers a query, without a model.

A sentence has a few features: what it covers of the query, each stem the more the fewer sentences have it; what the
question covers that it replies to, the turn around it and the turn before; how well its piece was found; whether it
holds the type of answer that is expected, asks, shows an image, is another person's or says nothing new. A sum of them
with fixed weights orders the sentences. This module does not know what is read off a sentence.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langgraph_engram.language.endings import asks_for_present, still_so
from langgraph_engram.rules.coverage import needed_stems
from langgraph_engram.rules.query_verbs import verb_stems
from langgraph_engram.rules.read_types import holds_type
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.text.keywords import is_small_talk
from langgraph_engram.text.questions import AnswerType
from langgraph_engram.text.slots import told_stems
from langgraph_engram.text.tokens import content_stems

FADES = 0.8
"""What each sentence of a reply keeps of the one before it."""
MANY = 8
"""New stems from which a sentence says as much as it can."""
WEIGHTS: Mapping[str, float] = {
    "own": 2.4,
    "verb": 1.0,
    "reply": 1.8,
    "beside": 0.2,
    "before": 0.4,
    "piece": 3.2,
    "type": 1.9,
    "new": 0.5,
    "asks": -0.8,
    "image": -0.6,
    "hidden": -0.3,
    "empty": -2.0,
    "other": -1.8,
}
"""What each feature is worth: a softmax over sentences, fitted on two conversations and rounded (decision 14)."""

CLOSE = 0.75
"""Share of the best score from which a sentence joins a list, or stands in for one without the expected type."""
CONTEXT = ("own", "reply", "beside", "before")
"""Features that tell what a sentence and its surroundings cover."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A sentence and how well it answers."""

    score: float
    own: float
    """Share of the query's weight that its own words cover, in [0, 1]."""
    said: Utterance
    context: float
    """That share with the question it replies to, its turn and the turn before, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What sentences are compared with."""

    query: str
    kind: AnswerType
    weight: Mapping[str, float]
    """What each stem that evidence must mention is worth; together 1."""
    asked: frozenset[str]
    """Stems of the query and of the people it names."""
    verbs: frozenset[str]
    people: tuple[str, ...]
    """Whom the query names."""
    present: tuple[str, ...]
    """Who takes part."""
    present_state: bool
    """Whether the query asks for what is so now."""


def rank(
    query: str, intent: Intent, kind: AnswerType, utterances: Sequence[Utterance], evidence: Sequence[Evidence]
) -> list[Ranked]:
    """Order sentences by how well they answer, best first.

    Args:
        query: The question as it was put.
        intent: What it asks for.
        kind: The type of answer that it expects.
        utterances: The sentences.
        evidence: The pieces that they are read from.
    """
    best = max((piece.score for piece in evidence), default=0.0) or 1.0
    asking = Asking(
        query=query,
        kind=kind,
        weight=rarity(needed_stems(query, intent), utterances),
        asked=frozenset(content_stems(" ".join([query, *intent.speakers]))),
        verbs=verb_stems(query),
        people=tuple(intent.speakers),
        present=tuple(dict.fromkeys(one.speaker for one in utterances)),
        present_state=asks_for_present(query),
    )
    ranked: list[Ranked] = []
    for one in utterances:
        values = features(one, asking, evidence[one.place].score / best)
        score = sum(WEIGHTS[name] * value for name, value in values.items())
        ranked.append(Ranked(score, values["own"], one, sum(values[name] for name in CONTEXT)))
    return sorted(ranked, key=lambda one: -one.score)


def rarity(needed: set[str], utterances: Sequence[Utterance]) -> dict[str, float]:
    """Weigh each stem by how few sentences have it; the weights sum to 1."""
    held = [told_stems(one.text, one.speaker) for one in utterances]
    raw = {stem: math.log(1 + len(held) / (1 + sum(stem in stems for stems in held))) for stem in sorted(needed)}
    whole = sum(raw.values()) or 1.0
    return {stem: value / whole for stem, value in raw.items()}


def features(one: Utterance, asking: Asking, score: float) -> dict[str, float]:
    """Give the features of a sentence, each in [0, 1].

    Args:
        one: The sentence.
        asking: What it is compared with.
        score: The score of its piece, as a share of the best.
    """
    own = told_stems(still_so(one.text) if asking.present_state else one.text, one.speaker)
    reply, around, before = (set(content_stems(text)) for text in (one.answers, one.around, one.before))
    new = own - asking.asked
    return {
        "own": _covered(own, asking),
        "verb": float(not asking.verbs.isdisjoint(own)),
        "reply": _covered(reply - own, asking) * FADES**one.position,
        "beside": _covered(around - own - reply, asking),
        "before": _covered(before - own - reply - around, asking),
        "piece": score,
        "type": float(holds_type(asking.query, asking.kind, one, asking.asked)),
        "new": min(1.0, len(new) / MANY),
        "asks": float(one.asks),
        "image": float(one.image),
        "hidden": float(not one.shown),
        "empty": float(not new or is_small_talk(one.text, asking.present)),
        "other": float(bool(asking.people) and bool(one.speaker) and one.speaker not in asking.people),
    }


def _covered(stems: Iterable[str], asking: Asking) -> float:
    return round(sum(asking.weight.get(stem, 0.0) for stem in stems), 9)  # sets have no order, sums of floats do
