"""Tell what was just remembered without a model: its most central sentences, in order of time."""

from collections import Counter
from collections.abc import Sequence

from langgraph_engram.language.sentences import ends_asking
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.prompts.quoting import name_day
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.schema import Record

MOST_WORDS = 350
HISTORY_SHARE = 0.3
"""Share of the words given to earlier events."""


def write_synthesis(question: WriteSynthesis) -> str:
    """Give the sentences whose words recur most, those of earlier events first, under their days: 350 words at most.

    Questions tell nothing. Where there is nothing else, the first record stands for all, cut to length.
    """
    counts = Counter(stem for record in question.buffer for stem in set(content_stems(record.content)))
    history = _choose(question.history, counts, int(MOST_WORDS * HISTORY_SHARE))
    buffer = _choose(question.buffer, counts, MOST_WORDS - len(_told(history).split()))
    return _told([*history, *buffer]) or " ".join(_told(question.buffer[:1]).split()[:MOST_WORDS])


def _told(records: Sequence[Record]) -> str:
    """Put sentences under a heading for each day."""
    lines: list[str] = []
    day = None
    for record in records:
        heading = f"{name_day(record.mentioned_at)}: " if name_day(record.mentioned_at) != day else ""
        day = name_day(record.mentioned_at)
        lines.append(f"{heading}{record.content}")
    return " ".join(lines)


def _choose(records: tuple[Record, ...], counts: Counter[str], room: int) -> list[Record]:
    """Give the most central records that fit, in their order. A day costs its heading once, wherever it stands."""
    ranked = sorted(range(len(records)), key=lambda place: (-_centrality(records[place], counts), place))
    chosen: list[int] = []
    days: set[str] = set()
    for place in ranked:
        if ends_asking(records[place].content):
            continue
        day = name_day(records[place].mentioned_at)
        size = len(records[place].content.split()) + (0 if day in days else len(day.split()))
        if size <= room:
            chosen.append(place)
            days.add(day)
            room -= size
    return [records[place] for place in sorted(chosen)]


def _centrality(record: Record, counts: Counter[str]) -> float:
    stems = set(content_stems(record.content))
    return sum(counts[stem] - 1 for stem in stems) / (len(stems) + 3) if stems else 0.0
