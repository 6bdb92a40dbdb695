"""Ask for the facts of a buffer of turns (StructMem section 3.2, factual view)."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, Field

from langgraph_engram.model import Question
from langgraph_engram.prompts.extract_records import render_turns
from langgraph_engram.prompts.quoting import DATA_ONLY
from langgraph_engram.schema import Turn


class SourcedSentence(BaseModel):
    """One sentence and the turns it comes from."""

    sources: list[int] = Field(description="numbers of the turns it comes from")
    content: str = Field(description="one self-contained sentence with names instead of pronouns")


class SourcedSentences(BaseModel):
    """Everything drawn from some turns under one view."""

    sentences: list[SourcedSentence]


SYSTEM = f"""You list every fact that a conversation states: who, what, where, when, how many. One fact a sentence, in \
the order of the numbered turns. Keep names as they are. Keep the time as it is said and the date beside it.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ExtractFacts(Question[SourcedSentences]):
    """Which facts do these turns state?"""

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...] = ()

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return render_turns(SYSTEM, self.turns, self.context)
