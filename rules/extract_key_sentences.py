"""Choose the key sentences of an event without a model: those richest in content words."""

from langgraph_engram.language.tokens import content_stems
from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.rules.extract_records import extract_records

LEAST_STEMS = 3
"""Content stems under which a sentence is no key to anything."""


def extract_key_sentences(question: ExtractKeySentences) -> SourcedSentences:
    """Give the kept sentences with enough content, in order."""
    records = extract_records(ExtractRecords(question.turns, question.context, relations=False)).records
    kept = [one for one in records if len(set(content_stems(one.content))) > LEAST_STEMS]
    return SourcedSentences(sentences=[SourcedSentence(sources=one.sources, content=one.content) for one in kept])
