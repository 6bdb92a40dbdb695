"""Ask for the words that describe how one event gives way to the next (ES-Mem section 3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, plain, quote_turn
from langgraph_engram.schema import BoundaryKind, Turn

SYSTEM = f"""You describe, in one or two sentences in the third person, how a conversation passes from one event to \
the next: what ended, what began, and what links them. Name people and things as they are named. Write nothing else.
{DATA_ONLY}"""

NOTHING = "Nothing: the conversation opens here."


@dataclass(frozen=True)
class DescribeBoundary(Question[str]):
    """How does the earlier event give way to the later one?"""

    kind: BoundaryKind
    earlier_summary: str
    later_summary: str
    last_turns: tuple[Turn, ...]
    """The end of the earlier event; empty for the first event of all."""
    first_turns: tuple[Turn, ...]
    gap: str = ""
    """The time between the two, in words; empty within a session."""
    earlier_keywords: tuple[str, ...] = ()
    later_keywords: tuple[str, ...] = ()

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        earlier = _event(self.earlier_summary, self.earlier_keywords, self.last_turns)
        later = _event(self.later_summary, self.later_keywords, self.first_turns)
        gap = f"\n\nTime between them: {self.gap}" if self.gap else ""
        return [
            SystemMessage(SYSTEM),
            HumanMessage(
                f"Earlier event:\n{inside('context', earlier or NOTHING)}\n\n"
                f"Later event:\n{inside('conversation', later)}{gap}"
            ),
        ]


def _event(summary: str, keywords: Sequence[str], turns: Sequence[Turn]) -> str:
    """Return an event's topics, its keywords and some of its turns, each on a line of its own (ES-Mem Figure 8)."""
    named = f"Keywords: {plain(', '.join(keywords))}" if keywords else ""
    return "\n".join(line for line in (plain(summary), named, *map(quote_turn, turns)) if line)


def boundary_text(kind: BoundaryKind, before: str, after: str, first_turns: Sequence[Turn], gap: str) -> str:
    """Describe a boundary without a model: who speaks first, on what, and after what.

    Args:
        kind: Whether it opens a conversation, parts two sessions, or two subjects.
        before: What the event before it is called; empty for nothing.
        after: What the event after it is called.
        first_turns: The turns that this one begins with.
        gap: The time between the two, in words; empty within a session.
    """
    who = first_turns[0].speaker if first_turns else "Somebody"
    later = after or "something that words do not tell"
    if kind == "opening":
        return f"The conversation opens with {who} on {later}."
    earlier = f"After {before}" if before else "After something else"
    if kind == "session_break":
        then = f", {gap} later," if gap else ","
        return f"{earlier}{then} a new conversation begins with {who} on {later}."
    return f"{earlier}, {who} brings up {later}."
