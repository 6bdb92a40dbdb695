"""Choose the key sentences of an event without a model: those with enough content words."""

from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.rendering import number_sentences
from langgraph_engram.text.tokens import content_stems

LEAST_STEMS = 3
"""Content stems under which a sentence is no key to anything."""


def extract_key_sentences(question: ExtractKeySentences) -> SourcedSentences:
    """Point at the sentences with enough content, in order."""
    sentences = number_sentences(question.turns, question.context)
    kept = [one.number for one in sentences if one.number and len(set(content_stems(one.as_said))) > LEAST_STEMS]
    return SourcedSentences(sentences=[SourcedSentence(sources=[number]) for number in kept])
