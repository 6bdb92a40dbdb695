"""Ask for the relations that a buffer of turns shows (StructMem section 2.1 and Figures 6 and 7, relational view)."""

from dataclasses import dataclass

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.rendering import DATA_ONLY, AboutSentences

SYSTEM = f"""You list how people relate to one another in a conversation, and how what they tell hangs together.
Between people: who praises or admires whom and for what; who encourages, supports, advises or congratulates; who \
thanks, or shares joy, pride or worry; who asks and takes an interest; who agrees or disagrees; who shares something \
in return. Say what the words do, even where nobody names it: an answer may empathize, reassure or open up.
Between things: what caused or led to what, and what came before or after what.
Sentences have numbers in brackets. Give one entry for each relation, with the numbers of the sentences that show it: \
one sentence that names who acts on whom and about what, and when where that matters. Join what belongs together in \
one message. Say "both" for what is mutual, with the sentence that completes it. Leave out what is a plain fact about \
one person; that somebody tells it in return for something is a relation.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ExtractRelations(AboutSentences, Question[SourcedSentences]):
    """Which relations do these turns show?"""

    system = SYSTEM
