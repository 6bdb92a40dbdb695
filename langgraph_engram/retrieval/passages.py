"""Format what was found as passages with their day and speakers, long ones as the lines that hold most of a query."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from langgraph_engram.prompts.rendering import BUT_ALSO, CHANGED_SINCE, captions_of, dated
from langgraph_engram.results import count_tokens, tokens_of_length
from langgraph_engram.schema import Evidence, Record, Turn, make_id
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.find import resolve_times
from langgraph_engram.text.markdown import MAX_OPENING
from langgraph_engram.text.questions import read_cues
from langgraph_engram.text.sentences import pieces_of
from langgraph_engram.text.statements import own_words, shows_image
from langgraph_engram.text.words import content_stems

ELLIPSIS = " … "
"""Separates the records of a passage between which something else was said."""
CUT = ELLIPSIS.strip()
"""Stands where lines are left out."""
MAX_CONFLICTS_SHOWN = 3
"""Records that a passage shows beside those that they are in conflict with, the newest ones."""
DAY_CHARACTERS = 13
"""Characters of the day before a passage, about."""
EXCERPT_CHARACTERS = 500
"""Characters that are shown of a chunk of a long message, about."""
LINE_CHARACTERS = 260
"""Characters of a line of an outline at most."""
NEAR_TURNS = 1
"""Turns on each side of a source turn, within its session, that are shown with it where retrieval goes deep."""


class Candidate(NamedTuple):
    """Something found: its kind, its position in the index of that kind, its score and each route's share of it."""

    kind: Literal["record", "turn", "event", "synthesis"]
    position: int
    score: float
    routes: dict[str, float] = {}
    joined: tuple[int, ...] = ()
    """For a record: the positions of further records of its turn or exchange that are shown in the same passage."""
    replies: tuple[int, ...] = ()
    """The positions of an assistant's turns that are shown behind it."""
    as_line: bool = False
    """Whether it is shown as one line of an outline, and not whole."""
    relevance: float = 0.0
    """The probability that it holds what is asked for."""


def as_passage(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Return a record, a turn or a synthesis as a passage, with its replies behind it."""
    if candidate.kind == "record":
        passage = format_record(index, candidate)
    elif candidate.kind == "synthesis":
        synthesis = index.syntheses.items[candidate.position]
        passage = make_passage(candidate, synthesis.synthesis_id, synthesis.text, synthesis_id=synthesis.synthesis_id)
    else:
        turns = [index.turns.items[position] for position in turns_of(index, candidate)]
        passage = turn_passage(turns, candidate.score, candidate.routes, candidate.relevance)
    return with_replies(passage, [index.turns.items[position] for position in candidate.replies])


def with_replies(
    passage: Evidence,
    replies: Sequence[Turn],
    line_of: Callable[[Turn], str] = lambda turn: f"{turn.speaker}: {turn.text}",
) -> Evidence:
    """Return a passage with an assistant's turns behind it, each as a line."""
    if not replies:
        return passage
    text = "\n".join([passage.text, *map(line_of, replies)])
    return passage.model_copy(update={"text": text, "turns": [*passage.turns, *replies]})


def turn_passage(turns: Sequence[Turn], score: float, routes: dict[str, float], relevance: float = 0.0) -> Evidence:
    """Return consecutive turns as one passage under their day, verbatim but for resolved times."""
    lines = [
        f"{turn.speaker}: {resolve_times(turn.text, turn.said_at, turn.date_order)}{captions_of(turn)}"
        for turn in turns
    ]
    return Evidence(
        evidence_id=make_id("turns", *[turn.turn_id for turn in turns]),
        text=dated("\n".join(lines), turns[0].said_at),
        turns=list(turns),
        routes=routes,
        score=score,
        relevance=relevance,
    )


def reply_position(index: ScopeIndex, position: int) -> int:
    """Return the position of the assistant's reply to somebody's turn; -1 for none."""
    is_assistant = index.turns.from_assistant
    reply = int(index.turns.following[position]) if position >= 0 else -1
    return reply if reply >= 0 and is_assistant[reply] and not is_assistant[position] else -1


def turns_of(index: ScopeIndex, candidate: Candidate) -> list[int]:
    """Return the positions of the turns that a candidate's passage cites, its replies not among them."""
    if candidate.kind == "turn":
        return [candidate.position]
    cited: Iterable[str] = ()
    if candidate.kind == "event":
        cited = index.events.items[candidate.position].turn_ids
    elif candidate.kind == "record":
        cited = records_of(index, candidate).source_turn_ids
    return [position for position in map(index.turns.find_position, cited) if position >= 0]


class ShownRecords(NamedTuple):
    """The records that a passage quotes, in order of time, what took the place of a superseded one, and conflicts."""

    own: list[Record]
    successor: Record | None
    conflicts: list[Record]

    @property
    def source_turn_ids(self) -> Iterable[str]:
        """Return the turns that they come from, each once."""
        quoted = (*self.own, *([self.successor] if self.successor else ()), *self.conflicts)
        return dict.fromkeys(turn_id for record in quoted for turn_id in record.source_turn_ids)


def records_of(index: ScopeIndex, candidate: Candidate) -> ShownRecords:
    """Return the records that a candidate's passage quotes."""
    own = [index.records.items[position] for position in (candidate.position, *candidate.joined)]
    successor = index.records.successor(own[0]) if own[0].status == "superseded" else None
    own.sort(key=lambda record: (record.seq, record.part))
    return ShownRecords(own, successor, _in_conflict(index, [*own, successor] if successor else own))


def sentence_before(index: ScopeIndex, at: int) -> tuple[int, ...]:
    """Return the position of the record before one that points back to it ("It's ..."), of the same turn; else none."""
    records = index.records.items
    if not at or not read_cues(own_words(records[at].content, records[at].speaker)).points_back:
        return ()
    return (at - 1,) if records[at - 1].source_turn_ids == records[at].source_turn_ids else ()


def approximate_tokens(index: ScopeIndex) -> Callable[[Candidate], int]:
    """Return what estimates the tokens of a record or a turn without formatting it and what it quotes."""
    characters = {"record": index.records.characters, "turn": index.turns.characters}
    is_chunk = index.records.is_chunk

    def size_of(candidate: Candidate) -> int:
        own = sum(int(characters[candidate.kind][at]) for at in (candidate.position, *candidate.joined))
        if candidate.as_line:
            own = min(own, LINE_CHARACTERS)
        elif candidate.kind == "record" and is_chunk[candidate.position]:
            own = min(own, EXCERPT_CHARACTERS)
        return tokens_of_length(own + DAY_CHARACTERS)

    return size_of


def join_contents(records: Sequence[Record]) -> str:
    """Join the contents of the records of one exchange, without repeats; an ellipsis shows where something is left out.

    A speaker is named where another one spoke before. A reply that comes with its question leaves it out where the
    question stands already.
    """
    if len(records) == 1 and records[0].speaker:
        return records[0].content.lstrip()
    shown: dict[str, str] = {}
    said: list[str] = []
    for before, record in zip([None, *records], records, strict=False):
        speaker = before.speaker if before else ""
        question = next((earlier for earlier in said if record.content.startswith(f"{earlier} ")), "")
        text = record.content.removeprefix(question).lstrip()
        image = text.removeprefix(f"{record.speaker} ")
        if record.speaker == speaker:
            text = f"({image})" if shows_image(text) and image != text else text.removeprefix(f"{speaker}: ")
        shown.setdefault(text, "" if not before else " " if _follows(before, record) else ELLIPSIS)
        said.append(f"{record.speaker}: {own_words(record.content, record.speaker)}")
    return "".join(f"{gap}{text}" for text, gap in shown.items())


def format_record(
    index: ScopeIndex, candidate: Candidate, text_of: Callable[[Sequence[Record]], str] = join_contents
) -> Evidence:
    """Return a record, with those that joined it, as a passage under its day, quoted by `text_of`.

    What has changed since or is in conflict is shown whole, with what it changed to or conflicts with.
    """
    record = index.records.items[candidate.position]
    shown = records_of(index, candidate)
    is_whole = record.status == "superseded" or shown.conflicts
    text = dated(join_contents(shown.own) if is_whole else text_of(shown.own), record.mentioned_at)
    if shown.successor:
        text += CHANGED_SINCE + dated(shown.successor.content, shown.successor.mentioned_at)
    text += "".join(BUT_ALSO + dated(other.content, other.mentioned_at) for other in shown.conflicts)
    return make_passage(
        candidate,
        record.record_id,
        text,
        record=record.model_copy(update={"conflicts_with": [other.record_id for other in shown.conflicts]}),
        turns=[turn for turn_id in shown.source_turn_ids if (turn := index.turns.get(turn_id))],
    )


def consecutive_runs(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Split turns in order of time into runs of consecutive turns of one session."""
    runs: list[list[Turn]] = []
    for turn in turns:
        if not runs or (runs[-1][-1].session_id, runs[-1][-1].seq + 1) != (turn.session_id, turn.seq):
            runs.append([])
        runs[-1].append(turn)
    return runs


def near_turns(index: ScopeIndex, passage: Evidence) -> list[Turn]:
    """Return the turns around those of a passage, each within its session."""
    said = ((source, turn) for source in passage.turns for turn in index.session_turns(source.session_id))
    near = {turn.turn_id: turn for source, turn in said if abs(turn.seq - source.seq) <= NEAR_TURNS}
    return [*near.values()]


def make_passage(candidate: Candidate, evidence_id: str, text: str, **shown: Any) -> Evidence:
    """Return a candidate as a passage of this id and text."""
    return Evidence(
        evidence_id=evidence_id,
        text=text,
        routes=candidate.routes,
        score=candidate.score,
        relevance=candidate.relevance,
        **shown,
    )


def _in_conflict(index: ScopeIndex, shown: Sequence[Record]) -> list[Record]:
    """Return what is in conflict with the active records of a passage and is none of them, the newest in order."""
    if not any(record.conflicts_with for record in shown):
        return []
    active = (record for record in shown if record.status == "active")
    found = {other.record_id: other for record in active for other in index.records.in_conflict(record)}
    others = [other for other in found.values() if other not in shown]
    return sorted(others, key=index.records.kind.sort_key)[-MAX_CONFLICTS_SHOWN:]


def _follows(earlier: Record, later: Record) -> bool:
    """Return whether nothing else was said between two records."""
    return later.seq - earlier.seq <= 1 and later.part - earlier.part <= 1 and later.event_id == earlier.event_id


def excerpt(text: str, weights: Mapping[str, float], most: int) -> str:
    """Return the run of lines that holds most of a query, under the first line where that is short, as headings are.

    Each stem of the query has its weight. An excerpt has about `most` characters; a text of no more is returned whole.
    """
    if len(text) <= most:
        return text
    first, _, rest = text.partition("\n")
    if not rest or len(first) > MAX_OPENING:
        first, rest = "", text
    room = max(most - len(first), most // 2)
    lines = [piece for line in rest.split("\n") for piece in pieces_of(line, room)]
    start, end = _best_run(lines, weights, room)
    shown = [first or None, CUT if start else None, *lines[start:end], CUT if end < len(lines) else None]
    return "\n".join(line for line in shown if line is not None)


def excerpted(passage: Evidence, weights: Mapping[str, float]) -> Evidence:
    """Return a part of a long message with an excerpt of it as its text; anything else as it is."""
    return _quoting(passage, lambda content: excerpt(content, weights, EXCERPT_CHARACTERS))


def without_cuts(passages: Sequence[Evidence], most: int) -> list[Evidence]:
    """Return passages with excerpts as the whole passages, the first ones first, as far as `most` tokens more allow."""
    shown: list[Evidence] = []
    for passage in passages:
        complete = _quoting(passage, str)
        more = count_tokens(complete.text) - count_tokens(passage.text)
        if more <= most:
            passage, most = complete, most - more
        shown.append(passage)
    return shown


def _quoting(passage: Evidence, quote: Callable[[str], str]) -> Evidence:
    """Return a part of a long message with what is quoted of it as its text, its replies behind it; else as it is."""
    record = passage.record
    if not record or not record.is_chunk or passage.shows_others:
        return passage
    cited = [turn for turn in passage.turns if turn.turn_id in record.source_turn_ids]
    replies = [turn for turn in passage.turns if turn.turn_id not in record.source_turn_ids]
    text = dated(quote(record.content), record.mentioned_at)
    return with_replies(passage.model_copy(update={"text": text, "turns": cited}), replies)


def _best_run(lines: Sequence[str], weights: Mapping[str, float], most: int) -> tuple[int, int]:
    """Return where the run begins and ends that holds most of the weights, the middle one of several."""
    held = [weights.keys() & set(content_stems(line)) for line in lines]
    ends = [0, *accumulate(len(line) + 1 for line in lines)]
    last = min(bisect_left(ends, ends[-1] - most), len(lines) - 1)
    runs = [(start, max(start + 1, bisect_right(ends, ends[start] + most) - 1)) for start in range(last + 1)]
    shares = [sum(weights[stem] for stem in sorted(frozenset[str]().union(*held[start:end]))) for start, end in runs]
    best_runs = [run for run, share in zip(runs, shares, strict=True) if share == max(shares)]
    return best_runs[len(best_runs) // 2] if any(shares) else runs[0]
