"""List the facts of turns without a model: the numbered sentences that are no questions."""

from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentence, SourcedSentences
from langgraph_engram.prompts.rendering import number_sentences


def extract_facts(question: ExtractFacts) -> SourcedSentences:
    """Point at each sentence that states something, in order."""
    sentences = number_sentences(question.turns, question.context)
    stating = [one.number for one in sentences if one.number and not one.asks]
    return SourcedSentences(sentences=[SourcedSentence(sources=[number]) for number in stating])
