"""Ask for the dimensional records of some turns, and for relations between people (DimMem 3.2, StructMem 3.2).

The papers use two calls; one answer carries both here, and relations are left empty where they are not wanted.
Relative times are resolved before the model reads them. There is no example: a small model copies its names.
"""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.model import Question
from langgraph_engram.prompts.quoting import DATA_ONLY, inside, number_turns, quote_turn
from langgraph_engram.schema import MemoryType, Turn


class RecordDraft(BaseModel):
    """One atomic memory, as a model words it."""

    sources: list[int] = Field(description="numbers of the turns that say it")
    content: str = Field(description="one self-contained sentence in the third person, with names instead of pronouns")
    memory_type: MemoryType = Field(
        default="fact", description="episodic: something done or planned; profile: a lasting trait or taste; else fact"
    )
    time: str = Field(
        default="", description="when it happens: YYYY-MM-DD, YYYY-MM, YYYY, or start/end; empty if unsaid"
    )
    location: str = Field(default="", description="where it happens; empty if unsaid")
    reason: str = Field(default="", description="why it happens; empty if unsaid")
    purpose: str = Field(default="", description="what it is for; empty if unsaid")
    keywords: list[str] = Field(default=[], description="up to six names and things of the sentence")
    speaker: str = Field(default="", description="who says it")


class RelationDraft(BaseModel):
    """One thing that happens between people: support, gratitude, cause and effect, agreement."""

    sources: list[int] = Field(description="numbers of the turns that show it")
    content: str = Field(description="one sentence that names who does what to whom, and why")


class Extraction(BaseModel):
    """Everything drawn from some turns."""

    records: list[RecordDraft]
    relations: list[RelationDraft] = []


SYSTEM = f"""You keep what is worth remembering of a conversation, as short sentences that stand alone.
Take every numbered turn in order. Keep facts, plans, events, tastes, names, numbers, places and dates, what images \
show, and what an assistant recommends. Leave out greetings, thanks and small talk without content.
Write names instead of "I", "you" or "they". Where a date stands in brackets after a time, use that date. Say nothing \
that the turns do not say. Turns between context tags are read only: draw nothing from them.
{DATA_ONLY}"""
RELATIONS = "Also keep relations: what one person does for, feels about or causes in another."
NO_RELATIONS = "Leave relations empty."


@dataclass(frozen=True)
class ExtractRecords(Question[Extraction]):
    """What is worth remembering of these turns?"""

    turns: tuple[Turn, ...]
    """The core turns; sources are their numbers, from 1."""
    context: tuple[Turn, ...] = ()
    """Turns before them, to be read only."""
    relations: bool = True

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return render_turns(f"{SYSTEM}\n{RELATIONS if self.relations else NO_RELATIONS}", self.turns, self.context)


def render_turns(system: str, turns: tuple[Turn, ...], context: tuple[Turn, ...]) -> list[BaseMessage]:
    """Word an extraction: the rules, the turns that are read only, and the numbered core turns."""
    earlier = "\n".join(quote_turn(turn) for turn in context)
    parts = [inside("context", earlier)] if earlier else []
    return [SystemMessage(system), HumanMessage("\n\n".join([*parts, inside("conversation", number_turns(turns))]))]
