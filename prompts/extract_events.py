"""Ask, in one answer, what events are about, their records, and the relations they show (ES-Mem, DimMem, StructMem).

The papers ask for topics turn by turn, for boundaries one by one, and for facts and relations in two calls. Here
several short events share one call, and all of it is one answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.extract_records import RULES, RecordDraft
from langgraph_engram.prompts.rendering import DATA_ONLY, AboutSentences


class EventNote(BaseModel):
    """What one event is about, and how the conversation came to it."""

    event: int = Field(description="number of the event")
    topic: str = Field(description="its title: the subject in two to six words, with names; no list")
    transition: str = Field(
        default="", description="one sentence: what ended before it and what begins, with names; empty if nothing ended"
    )


class RelationDraft(BaseModel):
    """One thing that happens between people: support, gratitude, cause and effect, agreement."""

    sources: list[int] = Field(description="numbers in brackets of the sentences that show it")
    content: str = Field(description="one sentence that names who does or feels what towards whom, and why")


class EventReading(BaseModel):
    """Everything drawn from some events."""

    events: list[EventNote] = []
    records: list[RecordDraft]
    relations: list[RelationDraft] = []

    @property
    def drafts(self) -> Sequence[RecordDraft]:
        """Return what is noted of each record."""
        return self.records


SYSTEM = f"""{RULES}
For each event, which begins at a line "== event", note its title. Also note the relations that no record tells: what \
one person does for, causes in or lastingly feels about another, "both" where it is mutual; no thanks, praise or \
encouragement of the moment.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ExtractEvents(AboutSentences, Question[EventReading]):
    """What are these events about, and what is worth remembering of them?"""

    system = SYSTEM
    tells_events = True
    numbers_images = False
