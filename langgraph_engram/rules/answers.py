"""Tell the answers that ranked sentences give: one, or several where several things are asked for.

Of sentences that answer nearly as well the newest holds. What a newer record superseded answers a query for the past,
or for what it says besides and no other sentence does. This module does not know how sentences are ranked.
"""

import re
from collections.abc import Sequence

from langgraph_engram.language.endings import asks_for_present, stems_over
from langgraph_engram.rules.answer_phrases import says_new
from langgraph_engram.rules.choose_sentence import CLOSE, Ranked
from langgraph_engram.rules.one_answer import Told, Wanted, asked_noun, opened, typed
from langgraph_engram.rules.read_amount import counts
from langgraph_engram.rules.read_doer import asks_for_doer
from langgraph_engram.rules.read_personal_name import asks_for_personal_name
from langgraph_engram.rules.read_types import holds_type
from langgraph_engram.rules.read_yes_no import SUPPOSES
from langgraph_engram.rules.retell import retold
from langgraph_engram.rules.superseded import told_of_superseded
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.temporal.find import find_times
from langgraph_engram.text.questions import EXACT, asks_for_several
from langgraph_engram.text.tokens import content_stems

PLANNED = re.compile(r"^\W*(?:when|what\s+\w+)\s+(?:is|are|will)\b|\bnow\b", re.IGNORECASE)
"""Queries for the time of what is still to come."""
SETTLED = re.compile(r"\b(?:lives?|living|works?|working|stud(?:y|ies|ying)|from)\b", re.IGNORECASE)
"""Queries for where somebody belongs, which no other place will do for."""
MOST = 5
"""Answers of a list, at most."""
MOST_BEARING = 3
"""Sentences that are told where advice is asked for: what is known of the matter."""
SAME = 0.25
"""Share of what the best sentence and its surroundings cover that another one's must cover to stand in for it."""
OF_KIND = 0.6
"""Share of the best sentence's own cover from which another one is taken to tell of the same kind of thing."""
EQUAL = 0.88
"""Share of the best score from which a newer sentence that covers as much takes its place."""


def answers_of(wanted: Wanted, ranked: Sequence[Ranked]) -> list[Told]:
    """Give the answers of ranked sentences, best first; none where nothing else will do."""
    if wanted.kind == "advice":
        return _bearing(ranked)
    earlier = told_of_superseded(wanted, ranked)
    if earlier is not None:
        return earlier
    ordered = [one for one in ranked if not one.said.is_superseded] or list(ranked)
    # What happened has its own time, whatever was told later; what is planned may have moved.
    ordered = ordered if wanted.kind == "time" and not PLANNED.search(wanted.query) else newest_first(wanted, ordered)
    near = [one for one in ordered if one.score >= CLOSE * ordered[0].score] or ordered[:1]
    if asks_for_several(wanted.query) and wanted.kind != "yes_no":
        return _several(wanted, near)
    same = [one for one in near if one.context >= SAME * near[0].context]
    first = _first_typed(wanted, same)
    if first and (over := _over(wanted, first, ranked)):
        return [Told("No", over)] if wanted.kind == "yes_no" else []
    if first or _is_exact(wanted):
        return [first] if first else []
    if wanted.kind == "yes_no" and not SUPPOSES.search(wanted.query):
        return [Told(retold(one.said.text), one.said) for one in near if one.own][:1]
    return [_first_new(wanted, same)]


def _several(wanted: Wanted, near: Sequence[Ranked]) -> list[Told]:
    """Give the answers of a list: those of the type that is asked for, else what the sentences say that is new."""
    near = _of_kind(wanted, near)
    of_type = [Told(text, one.said) for one in near if (text := typed(wanted, one.said))]
    if _is_exact(wanted):
        return distinct(of_type)[:MOST]
    joined = [Told(opened(wanted, one.said), one.said) for one in near if (one.own or one is near[0])]
    joined = [one for one in joined if says_new(one.text, wanted.asked)] or joined[:1]
    return distinct(of_type or joined)[:MOST]


def _first_typed(wanted: Wanted, same: Sequence[Ranked]) -> Told | None:
    """Give the best answer of the type that is asked for; of numbers one of what is counted."""
    counted = wanted.kind == "number"
    ordered = sorted(same, key=lambda one: not counts(wanted.query, one.said.text)) if counted else same
    return next((Told(text, one.said) for one in ordered if (text := typed(wanted, one.said))), None)


def _is_exact(wanted: Wanted) -> bool:
    """Say whether nothing will do but what is of the type that is asked for."""
    if wanted.kind == "person":
        return asks_for_doer(wanted.query)
    if wanted.kind == "place":
        return asks_for_present(wanted.query) and SETTLED.search(wanted.query) is not None
    return wanted.kind in EXACT or (wanted.kind == "name" and asks_for_personal_name(wanted.query))


def _over(wanted: Wanted, first: Told, ranked: Sequence[Ranked]) -> Utterance | None:
    """Give what its speaker says later: that what an answer tells is over; none where they do not."""
    about = wanted.asked & set(content_stems(first.said.text)) if wanted.kind == "yes_no" else content_stems(first.text)
    later = (one.said for one in ranked if one.said.speaker == first.said.speaker and _is_later(one.said, first.said))
    return next((one for one in later if not stems_over(wanted.query, one.text).isdisjoint(about)), None)


def _is_later(one: Utterance, other: Utterance) -> bool:
    return one.told_at > other.told_at or (one.around == other.around and one.position > other.position)


def _bearing(ranked: Sequence[Ranked]) -> list[Told]:
    """Tell, whole, the sentences that bear on what advice is asked for; of what has changed, how it is now."""
    holding = [one for one in ranked if not one.said.is_superseded] or ranked
    near = [one for one in holding if one.score >= CLOSE * holding[0].score] or holding[:1]
    bearing = [one for one in near if one.own > 0 and not one.said.asks] or near[:1]
    return distinct([Told(retold(one.said.text), one.said) for one in bearing])[:MOST_BEARING]


def newest_first(wanted: Wanted, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Put the newest of the sentences that answer as well as the best in front of it, and hold what it holds."""
    best = ranked[0]
    near = [one for one in ranked if one.score >= EQUAL * best.score and one.own >= best.own]
    equal = [one for one in near if _holds(wanted, one) or not _holds(wanted, best)]
    newest = max(equal, key=lambda one: (one.said.told_at, one.score), default=best)
    return [newest, *(one for one in ranked if one is not newest)]


def distinct(told: Sequence[Told]) -> list[Told]:
    """Leave out what another answer says already."""
    kept: list[Told] = []
    seen: list[set[str]] = []
    for one in told:
        stems = set(content_stems(one.text))
        if not kept or (stems and not any(stems <= known or known <= stems for known in seen)):
            kept.append(one)
            seen.append(stems)
    return kept


def _holds(wanted: Wanted, one: Ranked) -> bool:
    """Say whether a sentence itself holds what is asked for; a time of its record may be another sentence's."""
    if wanted.kind == "time":
        return bool(find_times(one.said.text, one.said.said_at))
    return holds_type(wanted.query, wanted.kind, one.said, wanted.asked)


def _of_kind(wanted: Wanted, near: Sequence[Ranked]) -> list[Ranked]:
    """Leave out, where the best sentence names the kind of thing that is asked for, those that may tell of another."""
    kind = set(content_stems(asked_noun(wanted.query)))
    if not kind.intersection(content_stems(near[0].said.text)):
        return list(near)
    least = OF_KIND * near[0].own
    beside = (kind.intersection(content_stems(f"{one.said.around} {one.said.answers}")) for one in near)
    return [one for one, named in zip(near, beside, strict=True) if named or one.own >= least]


def _first_new(wanted: Wanted, near: Sequence[Ranked]) -> Told:
    """Give the best phrase that says something new, else the best one."""
    told = [Told(opened(wanted, one.said), one.said) for one in near]
    return next((one for one in told if says_new(one.text, wanted.asked)), told[0])
