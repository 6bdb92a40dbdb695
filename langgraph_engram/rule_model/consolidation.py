"""Decide on records that resemble one another, and tell what many of them say, without a model.

Repeats are merged, and what is not sure stays. A change is stated ("no longer"), or a sentence of a later day sets the
same attribute of the same person to another value. Two values of one day, or where nobody knows which came later, are a
conflict. A narrative is made of the sentences whose words recur most.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby

from langgraph_engram.prompts.decide_update import DecideUpdate, UpdateVerdict, UpdateVerdicts
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.schema import Action, Record
from langgraph_engram.temporal.datetimes import format_day, wall_time
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.statements import own_words, slot_in, states_change
from langgraph_engram.text.words import content_stems

REPEAT = 0.9
"""Least share of common stems of two records that say the same."""
SAME_SUBJECT = 0.5
"""Least share of common stems of a statement and of one that says it has changed."""
LEAST_STEMS = 2
"""Stems from which a repeat is worth merging: exclamations are no memories."""
HISTORY_SHARE = 0.3
"""Share of the words that a narrative gives to earlier events."""
SMOOTHING = 3
"""Stems added to a sentence's length, so that short sentences do not win by one frequent word."""
REASONS: Mapping[Action, str] = {
    "MERGE": "the same words",
    "SUPERSEDE": "the newest says that it has changed",
    "CONFLICT": "two values of one attribute, and no later day",
    "KEEP_BOTH": "no sign that they are one",
}


def decide_update(question: DecideUpdate) -> UpdateVerdicts:
    """Merge repeats, supersede what a later record says has changed, link what contradicts it, and keep the rest."""
    clusters = enumerate(question.clusters, start=1)
    return UpdateVerdicts(verdicts=[*chain.from_iterable(_decide(number, records) for number, records in clusters)])


def extractive_narrative(question: WriteSynthesis) -> str:
    """Quote the sentences whose words recur most, earlier events first; else the first record, cut to length."""
    buffer, most_words = question.buffer, question.most_words
    counts = Counter(stem for record in buffer for stem in set(content_stems(record.content)))
    earlier = _select(question.seeds, counts, int(most_words * HISTORY_SHARE))
    new = _select(buffer, counts, most_words - len(_format(earlier).split()))
    return _format([*earlier, *new]) or " ".join(_format(buffer[:1]).split()[:most_words])


def centrality(record: Record, counts: Counter[str]) -> float:
    """Return how often the stems of a record recur in others, on average; few stems count for less."""
    stems = set(content_stems(record.content))
    return sum(counts[stem] - 1 for stem in stems) / (len(stems) + SMOOTHING) if stems else 0.0


def _decide(cluster: int, records: Sequence[Record]) -> Iterator[UpdateVerdict]:
    """Yield verdicts, newest record first. What is in conflict is not merged, or nothing could be linked to it."""
    remaining = list(range(len(records)))
    is_decided = False
    while remaining:
        newest = remaining.pop()
        contradicted = [index for index in remaining if _contradicts(records[newest], records[index])]
        rivals = sorted({slot_in(records[index]): index for index in contradicted}.values())  # of each value the last
        repeats = [] if rivals else [index for index in remaining if _repeats(records[index], records[newest])]
        outdated = [] if repeats else [index for index in remaining if _supersedes(records[newest], records[index])]
        remaining = [index for index in remaining if index not in (*repeats, *outdated, *rivals)]
        decisions: dict[Action, list[int]] = {"MERGE": repeats, "SUPERSEDE": outdated, "CONFLICT": rivals}
        for action, others in decisions.items():
            if others:
                yield _verdict(action, cluster, [*others, newest], records)
                is_decided = True
    if not is_decided:
        yield _verdict("KEEP_BOTH", cluster, range(len(records)), records)


def _verdict(action: Action, cluster: int, members: Sequence[int], records: Sequence[Record]) -> UpdateVerdict:
    """Return a verdict on some members of a cluster, by position; all of them are not named."""
    numbers = [index + 1 for index in members] if len(members) < len(records) else []
    content = max((records[index].content for index in members), key=len) if action == "MERGE" else ""
    return UpdateVerdict(cluster=cluster, members=numbers, action=action, content=content, reason=REASONS[action])


def _repeats(older: Record, newest: Record) -> bool:
    same_time = (older.event_start, older.event_end) == (newest.event_start, newest.event_end)
    is_worth_merging = len(_stems(newest)) >= LEAST_STEMS
    return older.speaker == newest.speaker and same_time and is_worth_merging and _overlap(older, newest) >= REPEAT


def _supersedes(newest: Record, older: Record) -> bool:
    """Return whether the newest makes the older untrue: it sets the same attribute later, or says that it changed."""
    before, after = slot_in(older), slot_in(newest)
    if before and after and before.key == after.key:
        is_change = states_change(newest) or _is_later(newest, older)
        return is_change and before.value != after.value and not _mentions_earlier_time(newest, older)
    is_state = states_change(newest) and newest.memory_type != "episodic"
    return is_state and older.speaker == newest.speaker and _overlap(older, newest) >= SAME_SUBJECT


def _contradicts(newest: Record, older: Record) -> bool:
    """Return whether both set one attribute to two values, and neither day nor words tell of a change."""
    before, after = slot_in(older), slot_in(newest)
    if not (before and after) or before.key != after.key or before.value == after.value:
        return False
    is_of_two_times = _mentions_earlier_time(newest, older) or _mentions_earlier_time(older, newest)
    return not (states_change(newest) or _is_later(newest, older) or is_of_two_times)


def _is_later(newest: Record, older: Record) -> bool:
    """Return whether the newest was said on a later day, or, where a day is unknown, later in one conversation."""
    first, last = wall_time(older.mentioned_at), wall_time(newest.mentioned_at)
    if first and last:
        return first.date() < last.date()
    return older.session_id == newest.session_id and older.seq < newest.seq


def _mentions_earlier_time(record: Record, other: Record) -> bool:
    """Return whether a record mentions a time that was over when the other was said."""
    mentioned = wall_time(other.mentioned_at)
    return bool(record.event_end and mentioned and record.event_end < mentioned)


def _overlap(older: Record, newest: Record) -> float:
    first, second = _stems(older), _stems(newest)
    return len(first & second) / len(first | second) if first | second else 1.0


def _stems(record: Record) -> frozenset[str]:
    return frozenset(content_stems(own_words(record.content, record.speaker)))


def _format(records: Sequence[Record]) -> str:
    days = groupby(records, key=lambda record: format_day(record.mentioned_at))
    return " ".join(f"{day}: {' '.join(record.content for record in said)}" for day, said in days)


def _select(records: Sequence[Record], counts: Counter[str], room: int) -> list[Record]:
    """Return the most central records that fit, in their order. A day costs its heading once."""
    stated = [record for record in records if not ends_asking(record.content)]
    chosen: list[int] = []
    days: set[str] = set()
    for index in sorted(range(len(stated)), key=lambda index: -centrality(stated[index], counts)):
        day = format_day(stated[index].mentioned_at)
        size = len(stated[index].content.split()) + (0 if day in days else len(day.split()))
        if size <= room:
            chosen.append(index)
            days.add(day)
            room -= size
    return [stated[index] for index in sorted(chosen)]
