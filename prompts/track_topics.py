"""Ask for the topic of each turn in a chunk, and how each turn relates to the one before (ES-Mem section 3.1).

The paper asks for one turn at a time, and for intents in a second question. We ask for a chunk of turns in one
call, and let the same answer carry the intent label and the words that describe a transition; a chunk of one turn is
the paper's chain (Figure 6): the turn before, its topic and keywords, and the turn itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, day_headings, inside, plain, quote_turn
from langgraph_engram.schema import Turn

Label = Literal["topic_intro", "topic_shift", "detail_elaborate", "direct_resp"]
SHIFT_LABELS: Sequence[Label] = ("topic_intro", "topic_shift")
"""The labels that open an event; the others continue one."""


class TopicNote(BaseModel):
    """What one turn is about, and how it follows the turn before."""

    turn: int = Field(description="number of the turn")
    topic: str = Field(description="what the turn is about, in two to five words")
    keywords: list[str] = Field(default=[], description="its nouns and key phrases, the most important first")
    label: Label = Field(description="how the turn follows the one before it")
    confidence: float = Field(default=0.5, ge=0, le=1, description="how sure you are of the label")
    transition: str = Field(default="", description="for a new topic only: one sentence on what ended and what began")


class TopicTrack(BaseModel):
    """The notes of a chunk of turns."""

    notes: list[TopicNote]


SYSTEM = f"""You follow what a conversation is about, turn by turn.
Give one note for every numbered turn, in order.
Labels: topic_intro when the turn opens another subject that has to do with the one before; topic_shift when it leaves \
that for one that has not; detail_elaborate when it stays with the subject and adds to it; direct_resp when it answers \
or reacts to the turn before.
A turn without a number comes earlier and is only there to be read. No turn has exactly the topic and the keywords of \
the one before.
{DATA_ONLY}"""


@dataclass(frozen=True)
class TrackTopics(Question[TopicTrack]):
    """What is each of these turns about?"""

    turns: tuple[Turn, ...]
    before: tuple[Turn, ...] = ()
    """Turns that come earlier, to be read only."""
    topic_before: str = ""
    """What the conversation was about until now."""
    keywords_before: tuple[str, ...] = ()
    """The keywords of the turn before."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        topic = [f"Topic until now: {plain(self.topic_before)}"] if self.topic_before else []
        keywords = [f"Its keywords: {plain(', '.join(self.keywords_before))}"] if self.keywords_before else []
        earlier = [*map(quote_turn, self.before), *topic, *keywords]
        context = [inside("context", "\n".join(earlier))] if earlier else []
        numbered = (f"[{number}] {quote_turn(turn)}" for number, turn in enumerate(self.turns, start=1))
        headings = day_headings(turn.said_at for turn in self.turns)
        lines = [line for heading, text in zip(headings, numbered, strict=True) for line in (*heading, text)]
        parts = [*context, inside("conversation", "\n".join(lines))]
        return [SystemMessage(SYSTEM), HumanMessage("\n\n".join(parts))]
