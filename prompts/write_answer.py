"""Ask for the answer that people read, from the turns that deep retrieval went back to (HyMem section 3.3)."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.answer_form import AnswerInputs


@dataclass(frozen=True)
class WriteAnswer(AnswerInputs, Question[str]):
    """What is the answer, and what does it rest on?"""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return self.render_with(self.form.wording.concluding)
