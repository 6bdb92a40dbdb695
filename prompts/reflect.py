"""Ask whether an answer is complete, and if not, what to look for next (HyMem section 3.4).

As in the paper's Algorithm 1, the first question is judged, never the rewritten one. The whole pool is shown; the
paper's preset shows the answer alone.
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

ALONE = f"""You check whether an answer meets a question. It does where it is about what is asked, takes up every part \
of it, and is complete and well reasoned on the whole. If not, say what is missing and word the question anew, so that \
memory is searched for just that.
{DATA_ONLY}"""
"""For an answer without what it was written from (HyMem appendix B.2)."""


@dataclass(frozen=True)
class Reflect(Question[Reflection]):
    """Is this answer complete?"""

    query: str
    """The first question."""
    intent: Intent
    answer: str
    pool: tuple[Evidence, ...] | None
    """What the answer was written from; None to judge it by itself."""
    asked: tuple[str, ...] = ()
    """Every query put to memory so far."""
    form: AnswerForm = field(default_factory=AnswerForm)
    """How the answer's reader was shown the pool: what decides is shown here as well."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        judged = f"Question: {without_tags(self.query)}\nAnswer: {one_line(self.answer) or 'none'}"
        if self.pool is None:
            return [SystemMessage(ALONE), HumanMessage(judged)]
        found = inside("pool", self.form.layout(self.pool) or "nothing")
        asked = one_line("; ".join(self.asked))
        return [SystemMessage(SYSTEM), HumanMessage(f"Found:\n{found}\n\nAsked so far: {asked}\n{judged}")]
