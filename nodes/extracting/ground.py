"""Hold each record against the turns it cites: numbers, names, dates, words (DESIGN, step 4). No model is asked.

Speakers, captions, and dates that rules resolve from a turn's clock count as grounds. What fails is quarantined with
its reason; it is kept and shown, and no search finds it. A dimension without grounds is left open.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from langgraph_engram.language.names import proper_names
from langgraph_engram.language.numbers import NUMBER, plain_number
from langgraph_engram.language.tokens import content_stems, stem, words
from langgraph_engram.nodes.extracting.echo import echoed
from langgraph_engram.nodes.extracting.grounds import grounds_of
from langgraph_engram.schema import Record, Turn
from langgraph_engram.settings import GroundSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.stores.store import Store

YEAR_DIGITS = 4
HALF = 0.5
"""Least share of the words of a reason, a purpose or a keyword that were said."""


@dataclass(frozen=True)
class Ground:
    """Quarantine what its sources do not say. Reads `request`, `turns`, `events`, `records`; changes `records`."""

    store: Store
    settings: GroundSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the records, those without grounds quarantined."""
        if not self.settings.enabled:
            return {}
        index = self.store.index(state["request"].scope)
        new = {turn.turn_id: turn for turn in state["turns"]}
        near = {event.event_id: [*event.context_turn_ids, *event.turn_ids] for event in state["events"]}

        def turns_of(ids: Sequence[str]) -> list[Turn]:
            return [turn for one in ids if (turn := new.get(one) or index.turns.get(one))]

        return {
            "records": [
                self._judge(record, index, turns_of(record.source_turn_ids), turns_of(near.get(record.event_id, [])))
                for record in state["records"]
            ]
        }

    def _judge(self, record: Record, index: ScopeIndex, sources: Sequence[Turn], around: Sequence[Turn]) -> Record:
        judged = judge(record, sources, around, self.settings)
        echo = echoed(judged, sources, index, self.settings) if judged.status == "active" else ""
        return _quarantined(judged, echo) if echo else judged


def judge(record: Record, sources: Sequence[Turn], around: Sequence[Turn], settings: GroundSettings) -> Record:
    """Give the record with its grounded dimensions, or quarantined with the first reason found.

    Args:
        record: The record to judge.
        sources: The turns it cites.
        around: The turns of its event, whose names may stand for pronouns.
        settings: How much of its words must be said.
    """
    if record.status != "active":
        return record
    around = [*sources, *(turn for turn in around if turn not in sources)]
    reason = (
        ungrounded_number(record, sources, around)
        or ungrounded_name(record, around)
        or ungrounded_date(record, sources)
        or ungrounded_words(record, around, settings.least_said)
        or misattributed(record, sources, around)
    )
    return _quarantined(record, reason) if reason else with_grounded_dimensions(record, around)


def ungrounded_number(record: Record, sources: Sequence[Turn], around: Sequence[Turn] = ()) -> str:
    """Say which number of the content no source holds, nor a question told with its reply; empty if all are held."""
    told = NUMBER.findall(record.content)
    if not told:
        return ""
    held = {number for turn in (*sources, *_quoted_questions(record, around)) for number in grounds_of(turn).numbers}
    missing = missing_number(told, held)
    return f"the number {missing!r} is in none of its sources" if missing else ""


def missing_number(told: Sequence[str], held: Collection[str]) -> str:
    """Give the first number that was never said, as it was told; empty if all were.

    Args:
        told: Numbers in digits.
        held: The numbers that were said, written plainly.
    """
    return next((number for number in told if not _is_held(plain_number(number), held)), "")


def _is_held(number: str, held: Collection[str]) -> bool:
    """Say whether a number was said: as it is, as the two digits of a year, or as the full hour that a clock shows."""
    of_year = number[2:] if len(number) == YEAR_DIGITS and number.isdigit() else number
    return number in held or of_year in held or (number.isdigit() and int(number) == 0)


def ungrounded_name(record: Record, around: Sequence[Turn]) -> str:
    """Say which name of the content nobody near it mentions; empty if all are mentioned."""
    grounds = [grounds_of(turn) for turn in around]
    for name in proper_names(record.content):
        stems = {stem(word) for word in words(name)}
        if not any(name.casefold() in one.text or stems & one.stems for one in grounds):
            return f"the name {name!r} is not mentioned near its sources"
    return ""


def ungrounded_date(record: Record, sources: Sequence[Turn]) -> str:
    """Say that the event's date follows from no source; empty if it follows, or if there is none."""
    if record.event_start is None or record.event_end is None:
        return ""
    for turn in sources:
        spans = grounds_of(turn).spans
        if any(span.start <= record.event_end and record.event_start <= span.end for span in spans):
            return ""
        if turn.said_at and record.event_start.date() <= turn.said_at.date() <= record.event_end.date():
            return ""
    return f"the date {record.event_start.date().isoformat()} follows from none of its sources"


def ungrounded_words(record: Record, around: Sequence[Turn], least: float) -> str:
    """Say that too few of the content's words were said near its sources; empty if enough were.

    Args:
        record: The record.
        around: The turns of its event.
        least: Least share of the distinct content stems that occur there, in [0, 1].
    """
    told = set(content_stems(record.content))
    missing = unsaid(told, around)
    if len(told) - len(missing) >= least * len(told):
        return ""
    return f"most of its words were not said: {', '.join(sorted(missing)[:3])}"


def unsaid(stems: Collection[str], around: Sequence[Turn]) -> set[str]:
    """Give the stems that none of the turns holds. Those that hold most are best given first."""
    left = set(stems)
    for turn in around:
        if not left:
            break
        left -= grounds_of(turn).stems
    return left


def misattributed(record: Record, sources: Sequence[Turn], around: Sequence[Turn]) -> str:
    """Say that the content tells of one speaker what another said of themselves; empty if it does not.

    It does where the content begins with the name of a participant who spoke no source, and whom no source mentions or
    speaks to; a question told with its reply has its own speaker before a colon.
    """
    others = {turn.speaker for turn in around} - {turn.speaker for turn in sources}
    named = next((name for name in others if words(record.content)[: len(words(name))] == words(name)), None)
    if named is None or not words(named) or record.content.startswith(f"{named}:"):
        return ""
    said = {word for turn in sources for word in words(turn.text)}
    if said & {"you", "your", "yours", "we", "our", "us", *words(named)}:
        return ""
    return f"it tells of {named} what {sources[-1].speaker if sources else 'nobody'} said"


def with_grounded_dimensions(record: Record, around: Sequence[Turn]) -> Record:
    """Give a record without the place, reason, purpose and keywords that nobody near its sources said."""

    def held(text: str, least: float) -> str:
        stems = set(content_stems(text))
        return text if stems and len(stems) - len(unsaid(stems, around)) >= least * len(stems) else ""

    update: dict[str, object] = {
        "location": held(record.location, 1.0),
        "reason": held(record.reason, HALF),
        "purpose": held(record.purpose, HALF),
        "keywords": [word for word in record.keywords if held(word, HALF)],
    }
    return record.model_copy(update=update)


def _quoted_questions(record: Record, around: Sequence[Turn]) -> list[Turn]:
    """Give the turns whose question is told with the reply to it: they are read beside the sources."""
    return [turn for turn in around if (asked := grounds_of(turn).asks) and asked in record.content]


def _quarantined(record: Record, reason: str) -> Record:
    return record.model_copy(update={"status": "quarantined", "reject_reason": reason})
