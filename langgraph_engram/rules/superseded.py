"""Read superseded sentences: what was so before, what they say besides, and that it is no longer so.

What has changed is told as it is now (docs/decisions/0025). This module does not know how sentences are ranked.
"""

import re
from collections.abc import Sequence

from langgraph_engram.rules.choose_sentence import CLOSE, Ranked
from langgraph_engram.rules.one_answer import Told, Wanted, answer
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.text.questions import asks_for_past, later_state
from langgraph_engram.text.slots import Slot, is_asked_by, slot_of
from langgraph_engram.text.statements import signals_change
from langgraph_engram.text.tokens import content_stems

PRESENT = re.compile(r"^\W*(?:is|are|am|do|does)\b|\bstill\b", re.IGNORECASE)
"""Queries for what is so now, answered by yes or no."""
OF_NO_STATE = frozenset({"yes_no", "time", "duration"})
"""Types of answer that tell no earlier state."""
NO_LONGER = "no longer so"
SHARED = 0.5
"""Share of a sentence's stems that another one repeats which says that it has changed."""


def told_of_superseded(wanted: Wanted, ranked: Sequence[Ranked]) -> list[Told] | None:
    """Give what superseded sentences answer; None where sentences that hold answer as well.

    Args:
        wanted: What the query wants.
        ranked: All sentences, best first.

    Returns:
        The answers; none of them where a query asks what was before something that is known, and nothing says so.
    """
    past = [one for one in ranked if one.said.is_superseded]
    holding = [one for one in ranked if not one.said.is_superseded]
    of_state = wanted.kind not in OF_NO_STATE
    if of_state and (later := _named_later(wanted.query, ranked)):
        return _what_was_before(later, past)
    if of_state and asks_for_past(wanted.query):
        return _what_was(wanted, past, holding, CLOSE * ranked[0].score) or None
    best = next((one for one in past if one.score >= CLOSE * ranked[0].score), None)
    if best is None or any(one.score >= CLOSE * best.score and one.own >= best.own for one in holding):
        return None
    return _besides(wanted, best.said, [one.said for one in holding]) or None


def _what_was(wanted: Wanted, past: Sequence[Ranked], holding: Sequence[Ranked], least: float) -> list[Told]:
    """Give what was so last before what holds now, and what holds now."""
    now = _attribute(holding[0].said) if holding else None
    same = [one.said for one in past if now and _sets(one.said, now)]
    near = [one.said for one in past if one.score >= least]
    was = max(same, key=lambda said: said.told_at) if same else next(iter(near), None)
    if was is None:
        return []
    told, changed = answer(wanted, was), _attribute(was)
    if changed and changed.value not in told.casefold():
        return [Told(told, was)]
    return [Told(f"{told} ({NO_LONGER})", was), *(Told(answer(wanted, one.said), one.said) for one in holding[:1])]


def _named_later(query: str, ranked: Sequence[Ranked]) -> Utterance | None:
    """Give the first sentence that sets an attribute to what a query names after "before"; none for none."""
    named = later_state(query).casefold()
    setting = ((one.said, _attribute(one.said)) for one in ranked) if named else ()
    return next(
        (said for said, found in setting if found and named.startswith(found.value) and is_asked_by(query, found)), None
    )


def _what_was_before(later: Utterance, past: Sequence[Ranked]) -> list[Told]:
    """Give the last state before the one that a sentence sets."""
    state = _attribute(later)
    before = [one.said for one in past if state and _sets(one.said, state) and one.said.told_at < later.told_at]
    was = max(before, key=lambda said: said.told_at, default=None)
    return [Told(_value(was), was)] if was else []


def _besides(wanted: Wanted, past: Utterance, holding: Sequence[Utterance]) -> list[Told]:
    """Give what a superseded sentence says besides what has changed; of that, what holds now. It is cited for both."""
    changed, newer = _attribute(past), _newer(past, holding)
    told, query = answer(wanted, past), wanted.query.casefold()
    named = changed is None or changed.value in query
    if wanted.kind == "yes_no":
        return [Told(_no_longer(newer) if newer and named and PRESENT.search(wanted.query) else told, past)]
    if changed is None:
        return [] if newer else [Told(told, past)]
    if named or changed.value not in told.casefold() or not is_asked_by(query, changed):
        return [Told(told, past)]
    return [Told(answer(wanted, newer), past)] if newer else []


def _newer(past: Utterance, holding: Sequence[Utterance]) -> Utterance | None:
    """Give the newest sentence that sets the same attribute, or says that what was told has changed."""
    changed = _attribute(past)
    stems = set(content_stems(past.text))
    newer = [
        one
        for one in holding
        if (_sets(one, changed) if changed else signals_change(one.text) and _repeats(one, stems, past.speaker))
    ]
    return max(newer, key=lambda one: one.told_at, default=None)


def _repeats(one: Utterance, stems: set[str], speaker: str) -> bool:
    return one.speaker == speaker and len(stems.intersection(content_stems(one.text))) >= SHARED * len(stems)


def _no_longer(newer: Utterance) -> str:
    """Word that something has changed, and to what: "No longer: Porto"."""
    value = _value(newer)
    return f"No longer: {value}" if value else "No longer"


def _value(said: Utterance) -> str:
    """Give what a sentence sets an attribute to, in its own letters; empty for nothing."""
    found = _attribute(said)
    start = said.text.casefold().find(found.value) if found else -1
    return said.text[start : start + len(found.value)] if found and start >= 0 else ""


def _sets(said: Utterance, attribute: Slot) -> bool:
    found = _attribute(said)
    return found is not None and found.key == attribute.key


def _attribute(said: Utterance) -> Slot | None:
    return slot_of(said.text, said.speaker)
