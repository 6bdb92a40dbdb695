"""Ask whether an answer is complete, and if not, what to look for next (HyMem section 3.4).

As in the paper's Algorithm 1, the first question is judged, never the rewritten one; the whole pool is shown.
"""

from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, one_line, without_tags
from langgraph_engram.prompts.write_answer import AnswerForm
from langgraph_engram.schema import Evidence, Intent


class Reflection(BaseModel):
    """What is still missing, and what to look for."""

    complete: bool = Field(description="true if the answer says everything the question asks for")
    missing: str = Field(default="", description="what is still unknown, in a few words")
    next_query: str = Field(
        default="", description="if something is missing: a question to put to memory next, different from those asked"
    )


SYSTEM = f"""You check an answer against the question and against what was found.
It is complete if every part of the question is answered by what was found. If not, say what is missing and word the \
next question to memory: about the missing part only, with the names that were found.
{DATA_ONLY}"""


@dataclass(frozen=True)
class Reflect(Question[Reflection]):
    """Is this answer complete?"""

    query: str
    """The first question."""
    intent: Intent
    answer: str
    pool: tuple[Evidence, ...]
    asked: tuple[str, ...] = ()
    """Every query put to memory so far."""
    form: AnswerForm = field(default_factory=AnswerForm)
    """How the answer's reader was shown the pool: what decides is shown here as well."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return [
            SystemMessage(SYSTEM),
            HumanMessage(
                f"Found:\n{inside('pool', self.form.layout(self.pool) or 'nothing')}\n\n"
                f"Asked so far: {one_line('; '.join(self.asked))}\nQuestion: {without_tags(self.query)}\n"
                f"Answer: {one_line(self.answer) or 'none'}"
            ),
        ]
