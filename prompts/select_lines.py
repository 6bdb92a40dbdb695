"""Ask which of many short lines bear on a message: the deep selection (HyMem section 3.3) for requests and remarks.

Nothing published selects so: over many plain sentences at once, for a message in place of a question. The lines that
rarely change stand first, so that a provider's prompt cache holds them.
"""

from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, plain, without_tags
from langgraph_engram.temporal.datetimes import format_day

MOST_NAMED = 5


class LineSelection(BaseModel):
    """The lines that bear on a message."""

    numbers: list[int] = Field(default=[], description="numbers of the lines, the most important first; often empty")


SYSTEM = f"""\
You choose what somebody should be reminded of. Between the tags stand numbered lines that people said earlier, \
oldest first: in the first part what lasts most, under its days, in the second what is nearest to the message, \
without. Below them stands the message that one of them has just written to an assistant, or to a friend. Name the \
lines that ought to change the reply: what would do harm or spoil the reply if it were overlooked (health, diet, \
access, money, law, a promise, a decision, the tools and versions they have), what they tried in vain, learned, \
want, prefer or fear, who and what they live with, how things stand with them, and what explains or contradicts the \
message by cause, value or experience. Often no word is shared: a knee injury bears on an idea for a date. Where a \
later line replaces an earlier one, name the later. Leave out what is merely on the same topic, and what any reply \
would be the same without. Most messages need one line or none; name {MOST_NAMED} at most, and none for thanks, \
small talk and tasks that stand on their own.
{DATA_ONLY}"""


@dataclass(frozen=True)
class SelectLines(Question[LineSelection]):
    """Which of these lines bear on the message?"""

    fixed: tuple[str, ...]
    """Lines that rarely change, numbered and under their days."""
    near: tuple[str, ...]
    message: str
    thread: tuple[str, ...] = ()
    """What stood before the message, oldest first."""
    now: datetime | None = None
    """When it was written."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        parts = [inside("memories", "\n".join(lines)) for lines in (self.fixed, self.near) if lines]
        if self.thread:
            parts.append(inside("conversation", "\n".join(f"said: {plain(turn)}" for turn in self.thread)))
        written = f"Message of {format_day(self.now)}" if self.now else "Message"
        return [SystemMessage(SYSTEM), HumanMessage("\n\n".join([*parts, f"{written}: {without_tags(self.message)}"]))]
