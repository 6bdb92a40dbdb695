"""Format what was found as passages that fit a budget, and build the pool of passages that an answer cites.

A passage is dated and names its speakers; a narrative is shown as it was written.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from langgraph_engram.prompts.rendering import BUT_ALSO, CHANGED_SINCE, dated
from langgraph_engram.results import count_tokens, tokens_of_length
from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.retrieval.scoring import Positions
from langgraph_engram.schema import OUTLINE, STANDING, Evidence, Record, Turn, make_id
from langgraph_engram.settings import DeepSettings, RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.find import resolve_times
from langgraph_engram.text.statements import own_words, shows_image

P = TypeVar("P")

ELLIPSIS = " … "
"""Separates the records of a passage between which others were extracted."""
MAX_CONFLICTS_SHOWN = 3
"""Records that a passage shows beside those that they are in conflict with, the newest ones."""
MAX_SKIPPED = 20
"""Passages too large for the rest of a budget after which no smaller one is looked for."""
DAY_CHARACTERS = 13
"""Characters of the day before a passage, about."""
MIN_LIGHT_PASSAGES = 3
"""Passages that a light answer is written from whatever they score."""


def format_passage(
    index: ScopeIndex, candidate: Candidate, event_passages: Literal["turns", "summary"] = "turns"
) -> Evidence:
    """Return a candidate as a passage, with its replies behind it.

    Args:
        index: The memories of the scope that it was found in.
        candidate: What was found.
        event_passages: What of an event is shown.
    """
    passage = _whole_passage(index, candidate, event_passages)
    return with_replies(passage, [index.turns.items[position] for position in candidate.replies])


def with_replies(passage: Evidence, replies: Sequence[Turn]) -> Evidence:
    """Return a passage with an assistant's turns behind it."""
    if not replies:
        return passage
    lines = [passage.text, *(f"{turn.speaker}: {turn.text}" for turn in replies)]
    return passage.model_copy(update={"text": "\n".join(lines), "turns": [*passage.turns, *replies]})


def turn_passage(turns: Sequence[Turn], score: float, routes: dict[str, float], relevance: float = 0.0) -> Evidence:
    """Return consecutive turns as one passage under their day, verbatim but for resolved times."""
    lines = [
        f"{turn.speaker}: {resolve_times(turn.text, turn.said_at, turn.date_order)}{_captions(turn)}" for turn in turns
    ]
    return Evidence(
        evidence_id=make_id("turns", *[turn.turn_id for turn in turns]),
        text=dated("\n".join(lines), turns[0].said_at),
        turns=list(turns),
        routes=routes,
        score=score,
        relevance=relevance,
    )


def with_assistant_replies(index: ScopeIndex, candidate: Candidate) -> Candidate:
    """Return a record with the assistant's reply to each turn that it cites (DimMem Eq. 8).

    Anything else, and a record without such a reply, is returned as it is.
    """
    if candidate.kind != "record":
        return candidate
    cited = turns_of(index, candidate)
    replies = [reply for position in cited if (reply := reply_position(index, position)) >= 0]
    return candidate._replace(replies=tuple(reply for reply in dict.fromkeys(replies) if reply not in cited))


def reply_position(index: ScopeIndex, position: int) -> int:
    """Return the position of the assistant's reply to somebody's turn; -1 for none."""
    turns = index.turns
    _, following = turns.neighbours
    reply = int(following[position]) if position >= 0 else -1
    is_reply = reply >= 0 and turns.items[reply].role == "assistant" and turns.items[position].role != "assistant"
    return reply if is_reply else -1


def turns_of(index: ScopeIndex, candidate: Candidate) -> list[int]:
    """Return the positions of the turns that a candidate's passage cites, its replies not among them."""
    match candidate.kind:
        case "turn":
            return [candidate.position]
        case "event":
            cited: Iterable[str] = index.events.items[candidate.position].turn_ids
        case "record":
            cited = records_of(index, candidate).source_turn_ids
        case _:
            return []
    return [position for position in map(index.turns.find_position, cited) if position >= 0]


def turns_of_each(index: ScopeIndex, candidates: Sequence[Candidate]) -> tuple[Positions, Positions]:
    """Return the turns that candidates' passages show, their replies among them, as pairs.

    Returns:
        The number of a candidate and the position of a turn, in two arrays of the same length.
    """
    links = record_links(index)
    quoted = [
        (number, position)
        for number, candidate in enumerate(candidates)
        if candidate.kind == "record"
        for position in (candidate.position, *candidate.joined)
    ]
    numbers, records = np.array(quoted, dtype=np.intp).reshape(-1, 2).T
    others = set(numbers[~links.is_plain[records]].tolist())
    sources = links.sources[records]
    known = sources >= 0
    if others:
        known &= ~np.isin(numbers, list(others))[:, np.newaxis]
    further: list[tuple[int, int]] = []
    for number, candidate in enumerate(candidates):
        cited = turns_of(index, candidate) if number in others or candidate.kind != "record" else ()
        further += [(number, position) for position in (*cited, *candidate.replies)]
    further_numbers, further_turns = np.array(further, dtype=np.intp).reshape(-1, 2).T
    return (
        np.concatenate([np.repeat(numbers, known.sum(axis=1)), further_numbers]),
        np.concatenate([sources[known], further_turns]),
    )


class ShownRecords(NamedTuple):
    """The records that the passage of a candidate quotes."""

    own: list[Record]
    """The candidate's, in the order in which they were said."""
    successor: Record | None
    """What took the place of a superseded one."""
    conflicts: list[Record]
    """What the others are in conflict with, in order of time."""

    @property
    def source_turn_ids(self) -> Iterable[str]:
        """Return the turns that they come from, each once."""
        own, successor, conflicts = self
        if len(own) == 1 and not successor and not conflicts:
            return own[0].source_turn_ids
        quoted = (*own, *([successor] if successor else ()), *conflicts)
        return dict.fromkeys(turn_id for record in quoted for turn_id in record.source_turn_ids)


def records_of(index: ScopeIndex, candidate: Candidate) -> ShownRecords:
    """Return the records that a candidate's passage quotes."""
    items = index.records.items
    own = [items[candidate.position]]
    successor = index.records.successor(own[0]) if own[0].status == "superseded" else None
    if candidate.joined:
        own += [items[position] for position in candidate.joined]
        own.sort(key=lambda record: (record.seq, record.part))
    return ShownRecords(own, successor, _in_conflict(index, [*own, successor] if successor else own))


def approximate_tokens(index: ScopeIndex, settings: RetrieveSettings) -> Callable[[Candidate], int]:
    """Return what tells about how many tokens a candidate takes, without formatting it.

    What is shown beside a record is left out.
    """
    of_record, of_turn, is_passage = index.records.characters, index.turns.characters, index.records.is_passage

    def size_of(candidate: Candidate) -> int:
        position = candidate.position
        match candidate.kind:
            case "record":
                own = sum((int(of_record[at]) for at in candidate.joined), start=int(of_record[position]))
                own = min(own, settings.excerpt_characters) if is_passage[position] else own
            case "turn":
                own = int(of_turn[position])
            case "event":
                own = int(of_turn[turns_of(index, candidate)].sum())
            case _:
                own = len(index.syntheses.items[position].text)
        if candidate.as_line:
            return tokens_of_length(min(own, settings.outline_characters) + DAY_CHARACTERS)
        return tokens_of_length(own + sum(int(of_turn[at]) for at in candidate.replies) + DAY_CHARACTERS)

    return size_of


def join_contents(records: Sequence[Record]) -> str:
    """Join the contents of the records of one exchange, without repeats; an ellipsis shows where something is left out.

    A speaker is named where another one spoke before. A reply that comes with its question leaves it out where the
    question stands already.

    Args:
        records: The records, in the order in which they were said.
    """
    if len(records) == 1 and records[0].speaker:
        return records[0].content.lstrip()
    shown: dict[str, str] = {}
    said: list[str] = []
    speaker = ""
    for record, gap in zip(records, _gaps(records), strict=True):
        question = next((earlier for earlier in said if record.content.startswith(f"{earlier} ")), "")
        text = record.content.removeprefix(question).lstrip()
        image = text.removeprefix(f"{record.speaker} ")
        if record.speaker == speaker:
            text = f"({image})" if shows_image(text) and image != text else text.removeprefix(f"{speaker}: ")
        shown.setdefault(text, gap)
        said.append(f"{record.speaker}: {own_words(record.content, record.speaker)}")
        speaker = record.speaker
    return "".join(f"{gap}{text}" for text, gap in shown.items())


def format_record(
    index: ScopeIndex, candidate: Candidate, text_of: Callable[[Sequence[Record]], str] = join_contents
) -> Evidence:
    """Return a record, with those that joined it, as a passage under its day.

    What has changed since or is in conflict is shown whole, with what it changed to or conflicts with.

    Args:
        index: The memories of the scope that it was found in.
        candidate: The record.
        text_of: Returns what is shown of records in the order in which they were said.
    """
    record = index.records.items[candidate.position]
    shown = records_of(index, candidate)
    is_whole = record.status == "superseded" or shown.conflicts
    text = dated(join_contents(shown.own) if is_whole else text_of(shown.own), record.mentioned_at)
    if shown.successor:
        text += CHANGED_SINCE + dated(shown.successor.content, shown.successor.mentioned_at)
    text += "".join(BUT_ALSO + dated(other.content, other.mentioned_at) for other in shown.conflicts)
    return _passage(
        candidate,
        record.record_id,
        text,
        record=_with_conflicts(record, [other.record_id for other in shown.conflicts]),
        turns=[turn for turn_id in shown.source_turn_ids if (turn := index.turns.get(turn_id))],
    )


def passage_tokens(passage: Evidence) -> int:
    """Return the tokens of a passage's text."""
    return count_tokens(passage.text)


def fit_budget(
    passages: Iterable[P],
    budget: int,
    limit: int | None = None,
    *,
    size_of: Callable[[P], int] = passage_tokens,  # type: ignore[assignment]  # of passages, unless another is given
) -> list[P]:
    """Return the best passages that fit in a budget together, skipping a few that are too large for the rest of it.

    Args:
        passages: Passages, best first.
        budget: Tokens of their texts together.
        limit: The number of passages to return at most; None for no limit.
        size_of: Returns the tokens of a passage.
    """
    fitting: list[P] = []
    left, skipped = budget, 0
    for passage in passages:
        if left <= 0 or skipped >= MAX_SKIPPED or (limit is not None and len(fitting) >= limit):
            break
        size = size_of(passage)
        if size <= left:
            fitting.append(passage)
            left -= size
        elif fitting:
            skipped += 1
    return fitting


def smallest_size(passages: Iterable[Evidence]) -> int:
    """Return the tokens of the smallest passage; 0 for none."""
    return min(map(passage_tokens, passages), default=0)


def light_passages(evidence: Sequence[Evidence], settings: DeepSettings) -> Sequence[Evidence]:
    """Return the passages that a light answer is written from: few where the best stand out, else up to k.

    What the standing route found is always among them, and so are the lines of an outline.

    Args:
        evidence: Passages, best first.
        settings: k, and the minimum share of the best score (docs/decisions/0024).
    """
    least = settings.min_share * max((passage.score for passage in evidence), default=0.0)
    return [
        passage
        for position, passage in enumerate(evidence)
        if not {STANDING, OUTLINE}.isdisjoint(passage.routes)
        or (position < settings.light_k and (position < MIN_LIGHT_PASSAGES or passage.score >= least))
    ]


def merge_pools(pool: Sequence[Evidence], found: Sequence[Evidence], budget: int | None = None) -> list[Evidence]:
    """Append to a pool the passages that it does not hold yet.

    Args:
        pool: The pool; all of it stays where it is, since answers cite its passages by number.
        found: What may be added.
        budget: Tokens of the texts of the whole pool; what is too large for the rest of it is skipped.
    """
    known = {passage.evidence_id for passage in pool}
    fresh = list({passage.evidence_id: passage for passage in found if passage.evidence_id not in known}.values())
    if budget is not None:
        fresh = fit_budget(fresh, budget - sum(map(passage_tokens, pool)))
    return [*pool, *fresh]


def stands_alone(passage: Evidence) -> bool:
    """Return whether turns cannot replace it: a narrative, a part of a turn, or a record beside what changes it."""
    is_part = passage.record is not None and passage.record.is_passage
    return bool(passage.synthesis_id) or passage.shows_others or is_part


def consecutive_runs(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Split turns in order of time into runs of consecutive turns of one session."""
    found: list[list[Turn]] = []
    for turn in turns:
        last = found[-1][-1] if found else None
        if last and last.session_id == turn.session_id and last.seq + 1 == turn.seq:
            found[-1].append(turn)
        else:
            found.append([turn])
    return found


def event_turns(index: ScopeIndex, source: Turn, session: Sequence[Turn]) -> list[Turn]:
    """Return the turns of the event that a turn belongs to, its overlap included; the turn alone without one."""
    for event in index.session_events(source.session_id):
        if source.turn_id in event.turn_ids:
            members = {*event.context_turn_ids, *event.turn_ids}
            return [turn for turn in session if turn.turn_id in members]
    return [source]


def _whole_passage(index: ScopeIndex, candidate: Candidate, event_passages: Literal["turns", "summary"]) -> Evidence:
    if candidate.kind == "record":
        return format_record(index, candidate)
    turns = [index.turns.items[position] for position in turns_of(index, candidate)]
    if candidate.kind == "turn" or (candidate.kind == "event" and event_passages == "turns" and turns):
        return turn_passage(turns, candidate.score, candidate.routes, candidate.relevance)
    if candidate.kind == "event":
        event = index.events.items[candidate.position]
        return _passage(candidate, event.event_id, dated(event.indexed_text, event.started_at))
    synthesis = index.syntheses.items[candidate.position]
    return _passage(candidate, synthesis.synthesis_id, synthesis.text, synthesis_id=synthesis.synthesis_id)


def _passage(candidate: Candidate, evidence_id: str, text: str, **shown: Any) -> Evidence:
    return Evidence(
        evidence_id=evidence_id,
        text=text,
        routes=candidate.routes,
        score=candidate.score,
        relevance=candidate.relevance,
        **shown,
    )


def _with_conflicts(record: Record, record_ids: list[str]) -> Record:
    return record if record.conflicts_with == record_ids else record.model_copy(update={"conflicts_with": record_ids})


def _in_conflict(index: ScopeIndex, shown: Sequence[Record]) -> list[Record]:
    """Return what is in conflict with the active records of a passage and is none of them, the newest in order."""
    active = [record for record in shown if record.conflicts_with and record.status == "active"]
    if not active:
        return []
    found = {other.record_id: other for record in active for other in index.records.in_conflict(record)}
    others = [other for other in found.values() if other not in shown]
    return sorted(others, key=index.records.kind.sort_key)[-MAX_CONFLICTS_SHOWN:]


def _gaps(records: Sequence[Record]) -> list[str]:
    """Return what stands before each record: a space after the one extracted just before it, else an ellipsis."""
    follows = [
        later.part - earlier.part == 1 or (later.seq - earlier.seq == 1 and later.part == 0)
        for earlier, later in pairwise(records)
    ]
    return ["", *(" " if next_to else ELLIPSIS for next_to in follows)][: len(records)]


def _captions(turn: Turn) -> str:
    return "".join(f" (shares an image: {caption})" for caption in turn.captions)
