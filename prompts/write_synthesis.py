"""Ask for a narrative of what was just remembered and what it goes back to (StructMem section 3.3)."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, list_records
from langgraph_engram.schema import Record

MOST_WORDS = 350
"""Words of a narrative at most, unless told otherwise; StructMem asks for 200 to 350."""
FEWEST_SHARE = 4 / 7
"""The share of them that it has at least, where the memories say as much."""
SYSTEM = f"""You tell, in {{fewest}} to {{most}} words and in order of time, what the new memories say and how they \
follow from the earlier ones: causes, changes, plans and what came of them. Use names and dates. Add nothing that is \
not there. Write plain prose.
{DATA_ONLY}"""


@dataclass(frozen=True)
class WriteSynthesis(Question[str]):
    """What do these memories, taken together, tell?"""

    buffer: tuple[Record, ...]
    """The new records, in order of time."""
    history: tuple[Record, ...] = ()
    """Records of earlier events that resemble them, in order of time."""
    most_words: int = MOST_WORDS
    """Words that it may have."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        earlier = inside("context", list_records(self.history) or "none")
        new = inside("memories", list_records(self.buffer))
        told = SYSTEM.format(fewest=round(FEWEST_SHARE * self.most_words), most=self.most_words)
        return [SystemMessage(told), HumanMessage(f"Earlier memories:\n{earlier}\n\nNew memories:\n{new}")]
