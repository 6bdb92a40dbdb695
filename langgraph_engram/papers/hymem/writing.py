"""What HyMem alone does as it writes: key sentences (section 3.2, Level 1)."""

from langgraph_engram.extraction.batching import TurnBatch
from langgraph_engram.extraction.extractor import View
from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences


def ask_key_sentences(batch: TurnBatch) -> Question[SourcedSentences]:
    """Ask for the key sentences of a batch."""
    return ExtractKeySentences(batch.turns, batch.context, shown=batch.shown)


KEY_SENTENCES = View("key_sentence", ask_key_sentences)
