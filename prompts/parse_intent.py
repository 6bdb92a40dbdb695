"""Ask what a query asks for: anchor, types, keywords, time, location, answer dimension (DimMem section 3.3)."""

from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, speaker_name
from langgraph_engram.schema import Breadth, Dimension, MemoryType
from langgraph_engram.temporal.datetimes import format_day


class ParsedIntent(BaseModel):
    """What a query asks for, in words; an absent constraint is empty."""

    anchor: str = Field(description="the query as one self-contained sentence")
    target_types: list[MemoryType] = Field(default=[], description="types of memory that can answer it")
    keywords: list[str] = Field(default=[], description="names and things that a matching memory mentions")
    time: str = Field(default="", description="when it happened, if the query says so, as it says it")
    location: str = Field(default="", description="where it happened, if the query says so")
    reason: str = Field(default="", description="why it happened, if the query says so")
    purpose: str = Field(default="", description="what it was for, if the query says so")
    speakers: list[str] = Field(default=[], description="people whose words or deeds are asked for")
    answer_dimension: Dimension = Field(default="content", description="what the answer is: a time, a place, a reason")
    needs_assistant: bool = Field(default=False, description="true if it asks what the assistant said or advised")
    breadth: Breadth | None = Field(
        default=None,
        description="narrow if one thing answers it; list if it takes all of several (how many, how much in all, which "
        "ones, every); timeline if it asks in what order; summary if it asks for a summary or a whole development",
    )


SYSTEM = f"""You read a question put to somebody's memory and note what it asks for.
Constraints are only what the question states. What the question asks FOR is never a constraint: a question for a \
date has no time, a question for a place has no location.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ParseIntent(Question[ParsedIntent]):
    """What does this query ask for?"""

    query: str
    now: datetime | None = None
    speakers: tuple[str, ...] = ()
    """People who take part in the conversations."""
    rules: str = SYSTEM

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        people = ", ".join(map(speaker_name, self.speakers)) or "unknown"
        return [
            SystemMessage(self.rules),
            HumanMessage(f"People: {people}\nToday: {format_day(self.now)}\n\n{inside('context', self.query)}"),
        ]
