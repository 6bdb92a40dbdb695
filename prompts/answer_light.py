"""Ask for an answer from light memory, or for the word that it does not suffice (HyMem section 3.3)."""

from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, Field

from langgraph_engram.model import Question
from langgraph_engram.prompts.quoting import DATA_ONLY, WORDING, ask_about
from langgraph_engram.schema import Evidence, Intent


class LightAnswer(BaseModel):
    """An answer, or the word that what was shown does not suffice."""

    sufficient: bool = Field(description="true only if the memories answer the question fully and clearly")
    answer: str = Field(default="", description="the answer in a few words, then [number] of what it rests on")


SYSTEM = f"""You answer a question from numbered pieces of past conversations, and from nothing else.
{WORDING}
If the pieces answer only a part of the question, are vague, or are about somebody else, say that they do not suffice, \
and leave the answer empty.
{DATA_ONLY}"""


@dataclass(frozen=True)
class AnswerLight(Question[LightAnswer]):
    """Do these memories answer the query, and how?"""

    query: str
    intent: Intent
    evidence: tuple[Evidence, ...]
    """Best first; citations count from 1."""
    now: datetime | None = None
    whole_turns: bool = True
    """Whether the turns that pieces cite are shown whole and in order, or the pieces as they are."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return ask_about(SYSTEM, self.evidence, self.query, self.now, whole_turns=self.whole_turns)
