"""Ask what becomes of records that resemble one another (DimMem section 3.4).

The paper decides pair by pair. Here one question decides a whole cluster, so that the result does not depend on the
order of pairs.
"""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.model import Question
from langgraph_engram.prompts.quoting import DATA_ONLY, inside, number_records
from langgraph_engram.schema import Action, Record


class UpdateVerdict(BaseModel):
    """What was decided about a cluster."""

    action: Action
    content: str = Field(default="", description="for MERGE: one sentence that keeps every detail of all of them")
    reason: str = Field(default="", description="why, in a few words")


SYSTEM = f"""You compare memories that look alike, numbered from oldest to newest, and decide.
MERGE: all tell the same thing; one sentence can hold every detail of them.
SUPERSEDE: the newest says that what the older ones say is no longer so, or has changed.
KEEP_BOTH: they are different things, different occasions, or you are not sure.
Two events on different days are different things. Facts may change; tastes that add up are merged.
{DATA_ONLY}"""


@dataclass(frozen=True)
class DecideUpdate(Question[UpdateVerdict]):
    """Are these the same, is one out of date, or do all stand?"""

    records: tuple[Record, ...]
    """The cluster, oldest first."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        kind = self.records[0].memory_type or "memory"
        memories = inside("memories", number_records(self.records))
        return [SystemMessage(SYSTEM), HumanMessage(f"Their type: {kind}\n\n{memories}")]
