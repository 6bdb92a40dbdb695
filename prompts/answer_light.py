"""Ask for an answer from light memory, or for the word that it does not suffice (HyMem section 3.3)."""

from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, WORDING, ask_about
from langgraph_engram.prompts.write_answer import LAST, UNKNOWN
from langgraph_engram.schema import Evidence, Intent

SYSTEM = f"""You answer a question from numbered pieces of past conversations, and from nothing else.
{WORDING}
If the pieces answer only a part of the question, are vague, or are about somebody else, answer exactly: {UNKNOWN}
{DATA_ONLY}"""


@dataclass(frozen=True)
class AnswerLight(Question[str]):
    """What do these memories answer? The word for unknown where they do not suffice."""

    query: str
    intent: Intent
    evidence: tuple[Evidence, ...]
    """Best first; citations count from 1."""
    now: datetime | None = None
    whole_turns: bool = True
    """Whether the turns that pieces cite are shown whole and in order, or the pieces as they are."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return ask_about(SYSTEM, self.evidence, f"{self.query}\n{LAST}", self.now, whole_turns=self.whole_turns)
