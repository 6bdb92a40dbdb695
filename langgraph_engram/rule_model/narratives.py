"""Tell what records say by the sentences whose words recur most in them."""

from collections import Counter
from collections.abc import Sequence

from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.schema import Record
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.tokens import content_stems

HISTORY_SHARE = 0.3
"""Share of the words that a narrative gives to earlier events."""
SMOOTHING = 3
"""Stems added to a sentence's length, so that short sentences do not win by one frequent word."""


def extractive_narrative(question: WriteSynthesis) -> str:
    """Answer without a model: the sentences whose words recur most in the buffer, those of earlier events first.

    Questions are left out. Where there is nothing else, the first record stands for all, cut to length.
    """
    buffer, history, most_words = question.buffer, question.history, question.most_words
    counts = stem_counts(buffer)
    earlier = _select(history, counts, int(most_words * HISTORY_SHARE))
    new = _select(buffer, counts, most_words - len(_format(earlier).split()))
    return _format([*earlier, *new]) or " ".join(_format(buffer[:1]).split()[:most_words])


def _format(records: Sequence[Record]) -> str:
    """Put sentences under a heading for each day."""
    lines: list[str] = []
    previous = None
    for record in records:
        day = format_day(record.mentioned_at)
        lines.append(record.content if day == previous else f"{day}: {record.content}")
        previous = day
    return " ".join(lines)


def _select(records: Sequence[Record], counts: Counter[str], room: int) -> list[Record]:
    """Return the most central records that fit, in their order. A day costs its heading once."""
    ranked = sorted(range(len(records)), key=lambda index: (-centrality(records[index], counts), index))
    chosen: list[int] = []
    days: set[str] = set()
    for index in ranked:
        if ends_asking(records[index].content):
            continue
        day = format_day(records[index].mentioned_at)
        size = len(records[index].content.split()) + (0 if day in days else len(day.split()))
        if size <= room:
            chosen.append(index)
            days.add(day)
            room -= size
    return [records[index] for index in sorted(chosen)]


def stem_counts(records: Sequence[Record]) -> Counter[str]:
    """Return how many records hold each stem."""
    return Counter(stem for record in records for stem in set(content_stems(record.content)))


def centrality(record: Record, counts: Counter[str]) -> float:
    """Return how often the stems of a record recur in others, on average; few stems count for less."""
    stems = set(content_stems(record.content))
    return sum(counts[stem] - 1 for stem in stems) / (len(stems) + SMOOTHING) if stems else 0.0
