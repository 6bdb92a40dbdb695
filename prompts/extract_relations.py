"""Ask for the relations that a buffer of turns shows (StructMem section 3.2, relational view)."""

from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.rendering import DATA_ONLY, render_sentences
from langgraph_engram.schema import Turn

SYSTEM = f"""You list how people act on one another in a conversation: support, thanks, advice, shared feelings, \
agreement and disagreement, one thing causing or following another.
Sentences have numbers in brackets. Give one entry for each relation, with the numbers of the sentences that show it, \
naming who acts on whom; say "both" for what is mutual. Leave out what is a plain fact about one person.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ExtractRelations(Question[SourcedSentences]):
    """Which relations do these turns show?"""

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...] = ()
    shown: tuple[str, ...] = ()
    """What is read in place of each sentence, in the order of `number_sentences`; none to read what was said."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        return render_sentences(SYSTEM, self.turns, self.context, shown=self.shown)
