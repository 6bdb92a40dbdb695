"""List the facts of turns without a model: the sentences that the record rules keep."""

from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.rules.extract_records import extract_records


def extract_facts(question: ExtractFacts) -> SourcedSentences:
    """Give each kept sentence that is no question."""
    records = extract_records(ExtractRecords(question.turns, question.context, relations=False)).records
    kept = [record for record in records if not record.content.rstrip().endswith("?")]
    return SourcedSentences(sentences=[SourcedSentence(sources=one.sources, content=one.content) for one in kept])
