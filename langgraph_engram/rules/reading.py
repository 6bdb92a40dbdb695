"""Read an answer off evidence without a model: by the type that is asked for, off the sentences that answer best."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from langgraph_engram.rules.answers import answers_of
from langgraph_engram.rules.choose_sentence import rank
from langgraph_engram.rules.compare_times import Compared, compare_times
from langgraph_engram.rules.coverage import coverage, is_about, needed_stems, said_in, texts_in
from langgraph_engram.rules.one_answer import Wanted
from langgraph_engram.rules.stated_names import measure_unknown, names_unknown, part_unknown
from langgraph_engram.rules.told_times import may_tell_of
from langgraph_engram.rules.utterances import Utterance, gather
from langgraph_engram.rules.whose import is_of_another
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.text.questions import AMOUNTS, answer_type, later_state, time_question
from langgraph_engram.text.tokens import content_stems

LEAST = 0.22
"""Least share of the query's weight that an answer's sentence and its surroundings cover."""


@dataclass(frozen=True)
class Reading:
    """An answer read off evidence, what it rests on, and how much of the query that covers."""

    answer: str
    cited: tuple[int, ...]
    """Numbers of the evidence, from 1."""
    coverage: float
    """Share of what the query names that the cited pieces mention, in [0, 1]."""
    about: bool
    """Whether the best piece is about a person the query names, its sentence about what it asks, all names known."""


NOTHING = Reading(answer="", cited=(), coverage=0.0, about=False)


def read(query: str, intent: Intent, evidence: Sequence[Evidence]) -> Reading:
    """Read the answer that the evidence supports best.

    Args:
        query: The question as it was put.
        intent: What it asks for.
        evidence: Pieces, best first. None gives an empty answer, and so does a query that names nothing ("?").
    """
    kind = answer_type(query)
    everything = gather(evidence)
    said = [one for one in everything if not is_of_another(one, query, kind, intent.speakers)]
    compares = time_question(query)
    if compares:
        people = frozenset(content_stems(" ".join(intent.speakers)))
        return _compared(query, intent, evidence, compare_times(compares, said, intent.asked_at, people))
    needed = needed_stems(query, intent)
    ranked = rank(query, intent, kind, said, evidence) if needed else []
    if kind in AMOUNTS and intent.time:
        ranked = [one for one in ranked if may_tell_of(one.said, intent.time, intent.asked_at)]
    asked = content_stems(" ".join([query, *intent.speakers]))
    told = answers_of(Wanted(query, kind, frozenset(asked)), ranked) if ranked else []
    if not told:
        return NOTHING
    known = _known_stems(intent, evidence) if len(said) == len(everything) else _stems_of(intent, said)
    places = list(dict.fromkeys(one.said.place for one in told))
    best = next(one for one in ranked if one.said is told[0].said)
    # A state before another is told by the same attribute, in other words than those of the later one.
    is_meant = best.context >= LEAST or (best.said.is_superseded and bool(later_state(query)))
    return Reading(
        answer=", ".join(f"{one.text} [{one.said.place + 1}]" for one in told),
        cited=tuple(place + 1 for place in places),
        coverage=coverage(needed, [evidence[place] for place in places]),
        about=is_about(evidence[places[0]], intent) and is_meant and not _asks_of_another(query, known, evidence),
    )


def _asks_of_another(query: str, known: Set[str], evidence: Sequence[Evidence]) -> bool:
    """Say whether a query names something that nothing found mentions, so that what was found is about another."""
    texts = [text for text, _ in texts_in(evidence)]
    return bool(names_unknown(query, known) or part_unknown(query, known) or measure_unknown(query, known, texts))


def _compared(query: str, intent: Intent, evidence: Sequence[Evidence], compared: Compared | None) -> Reading:
    """Read what comparing times came to: each part was found, so that only its names may still be another's."""
    if compared is None or names_unknown(query, _known_stems(intent, evidence)):
        return NOTHING
    cited = tuple(place + 1 for place in compared.places)
    return Reading(
        answer=f"{compared.text} {''.join(f'[{number}]' for number in cited)}",
        cited=cited,
        coverage=coverage(needed_stems(query, intent), [evidence[place] for place in compared.places]),
        about=True,
    )


def _stems_of(intent: Intent, said: Sequence[Utterance]) -> set[str]:
    """Give the stems of sentences and of the questions that they reply to, and of the time that is asked about."""
    told = (f"{one.text} {one.answers} {one.record.content if one.record else ''}" for one in said)
    people = {stem for one in said for stem in content_stems(one.speaker)}
    return {stem for text in told for stem in content_stems(text)} | people | _time_stems(intent)


def _known_stems(intent: Intent, evidence: Sequence[Evidence]) -> set[str]:
    """Give the stems of what the evidence says, and of the time that is asked about."""
    return said_in(evidence) | _time_stems(intent)


def _time_stems(intent: Intent) -> set[str]:
    return set(content_stems(intent.time.text)) if intent.time else set()
