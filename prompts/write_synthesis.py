"""Ask for a narrative of what was just remembered and what it goes back to (StructMem section 2.2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, day_headings, inside, plain, speaker_name
from langgraph_engram.schema import Record
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.words import words

MOST_WORDS = 140
"""Words of a narrative at most, by default; StructMem asks for 200 to 350."""
FEWEST_SHARE = 4 / 7
"""The share of them that it has at least, where the memories say as much."""
SYSTEM = f"""You tell, in {{fewest}} to {{most}} words and in order of time, what the new memories say and how they \
follow from the earlier ones: causes, changes, plans and what came of them, and how the people feel about and act \
towards one another. Use names, dates and places. Weave in what is earlier where it explains something, with its date. \
Add nothing that is not there. Write plain prose.
{DATA_ONLY}"""


@dataclass(frozen=True)
class WriteSynthesis(Question[str]):
    """What do these memories, taken together, tell?"""

    buffer: tuple[Record, ...]
    """The new records, in order of time."""
    seeds: tuple[Record, ...] = ()
    """Records of earlier events that resemble them, in order of time."""
    most_words: int = MOST_WORDS
    """Words that it may have."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        earlier = inside("context", _lines(self.seeds) or "none")
        new = inside("memories", _lines(self.buffer))
        system = SYSTEM.format(fewest=round(FEWEST_SHARE * self.most_words), most=self.most_words)
        days = dict.fromkeys(format_day(self.buffer[end].mentioned_at) for end in (0, -1))
        people = dict.fromkeys(speaker_name(record.speaker) for record in self.buffer if record.speaker)
        head = f"Time: {' to '.join(days)}\nPeople: {', '.join(people) or 'unnamed'}"
        return [SystemMessage(system), HumanMessage(f"{head}\n\nEarlier memories:\n{earlier}\n\nNew memories:\n{new}")]


def _lines(records: Sequence[Record]) -> str:
    """Quote records in order, one a line that begins with who said it, under a line for each day of mention."""
    quoted = (plain(_with_speaker(record)) for record in records)
    headings = day_headings(record.mentioned_at for record in records)
    return "\n".join(line for heading, text in zip(headings, quoted, strict=True) for line in (*heading, text))


def _with_speaker(record: Record) -> str:
    name = words(record.speaker)
    named = words(record.content)[: len(name)] == name
    return record.content if named else f"{speaker_name(record.speaker)}: {record.content}"
