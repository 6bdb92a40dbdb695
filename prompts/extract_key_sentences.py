"""Ask for the key sentences of an event (HyMem section 3.1, Level 1, and appendix B.1)."""

from dataclasses import dataclass

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.rendering import DATA_ONLY, AboutSentences

SYSTEM = f"""You note the key information of a conversation, for somebody who must later find it again.
Sentences have numbers in brackets. Give short entries, with names, times and places and the numbers of the sentences \
each rests on; together they cover everything of substance. Join what belongs together into one sentence rather than \
break it up. Leave out greetings, courtesies and small talk.
{DATA_ONLY}"""


@dataclass(frozen=True)
class ExtractKeySentences(AboutSentences, Question[SourcedSentences]):
    """Which sentences lead back to these turns?"""

    system = SYSTEM
