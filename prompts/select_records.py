"""Ask which of a batch of memories matter to a query (HyMem section 3.3, deep retrieval)."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, plain, without_tags
from langgraph_engram.schema import Evidence, Intent


class Selection(BaseModel):
    """The memories that matter."""

    numbers: list[int] = Field(default=[], description="numbers of the memories that help, most helpful first")


SYSTEM = f"""You choose, from numbered memories, those that help to answer a question: directly, as one step of \
several, or by naming who, when or where. Choose none that merely share a word with it.
{DATA_ONLY}"""


@dataclass(frozen=True)
class SelectRecords(Question[Selection]):
    """Which of these matter?"""

    query: str
    intent: Intent
    candidates: tuple[Evidence, ...]

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        lines = (f"[{number}] {plain(passage.text)}" for number, passage in enumerate(self.candidates, start=1))
        memories = inside("memories", "\n".join(lines))
        return [SystemMessage(SYSTEM), HumanMessage(f"{memories}\n\nQuestion: {without_tags(self.query)}")]
