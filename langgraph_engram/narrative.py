"""Tell across events in the words that were said: the most central sentences, in order of time, under their days.

It needs no model. It is the answer of rules to `WriteSynthesis`, and what stands in for a model that has shown that it
cannot write: such a model joins what one person did to what another felt (docs/decisions/0022).
"""

from collections import Counter
from collections.abc import Sequence

from langgraph_engram.language.day_names import name_day
from langgraph_engram.language.sentences import ends_asking
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.schema import Record

HISTORY_SHARE = 0.3
"""Share of the words given to earlier events."""


def quoted_narrative(buffer: Sequence[Record], history: Sequence[Record], most_words: int) -> str:
    """Give the sentences whose words recur most in the buffer, those of earlier events first.

    Questions tell nothing. Where there is nothing else, the first record stands for all, cut to length.

    Args:
        buffer: The new records, in order of time.
        history: Records of earlier events, in order of time.
        most_words: Words that it holds at most, headings included.
    """
    counts = Counter(stem for record in buffer for stem in set(content_stems(record.content)))
    earlier = _choose(history, counts, int(most_words * HISTORY_SHARE))
    new = _choose(buffer, counts, most_words - len(_told(earlier).split()))
    return _told([*earlier, *new]) or " ".join(_told(buffer[:1]).split()[:most_words])


def _told(records: Sequence[Record]) -> str:
    """Put sentences under a heading for each day."""
    lines: list[str] = []
    day = None
    for record in records:
        heading = f"{name_day(record.mentioned_at)}: " if name_day(record.mentioned_at) != day else ""
        day = name_day(record.mentioned_at)
        lines.append(f"{heading}{record.content}")
    return " ".join(lines)


def _choose(records: Sequence[Record], counts: Counter[str], room: int) -> list[Record]:
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
