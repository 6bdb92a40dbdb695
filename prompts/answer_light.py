"""Ask for an answer from light memory, or for the word that it does not suffice (HyMem section 3.2)."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.write_answer import UNKNOWN, AnswerInputs

INSUFFICIENT = (
    "If the pieces do not hold what is asked for or what it is reckoned from, are vague, or are about somebody else, "
    f"answer exactly: {UNKNOWN}"
)


@dataclass(frozen=True)
class AnswerLight(AnswerInputs, Question[str]):
    """What do these memories answer? The word for unknown where they do not suffice."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return self.render_with(INSUFFICIENT)
