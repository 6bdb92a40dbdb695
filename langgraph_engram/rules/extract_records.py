"""Draw records from turns without a model: one a numbered sentence, in the words that were said.

The draft has no words of its own, because a sentence after its speaker's name stands alone; the rules label it and read
its dimensions.
"""

from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.prompts.rendering import Sentence, number_sentences
from langgraph_engram.temporal.find import find_times
from langgraph_engram.text.keywords import keywords_of
from langgraph_engram.text.statements import location_of, purpose_of, reason_of, type_of


def extract_records(question: ExtractRecords) -> Extraction:
    """Draw one record from each sentence and each image of the core turns that says anything."""
    sentences = number_sentences(question.turns, question.context)
    return Extraction(records=[draft_of(sentence) for sentence in sentences if sentence.number])


def draft_of(sentence: Sentence) -> RecordDraft:
    """Draw the record of one sentence; an image is a fact."""
    if sentence.image:
        return RecordDraft(sources=[sentence.number], memory_type="fact", keywords=keywords_of(sentence.text))
    return RecordDraft(
        sources=[sentence.number],
        memory_type=type_of(sentence.text, sentence.turn.said_at),
        time=time_of(sentence),
        location=location_of(sentence.text),
        reason=reason_of(sentence.text),
        purpose=purpose_of(sentence.text),
        keywords=keywords_of(sentence.text),
    )


def time_of(sentence: Sentence) -> str:
    """Give the first time that a sentence names, as start/end; empty for none."""
    mentions = find_times(sentence.text, sentence.turn.said_at, sentence.turn.date_order)
    if not mentions:
        return ""
    interval = mentions[0].interval
    return f"{interval.start.isoformat()}/{interval.end.isoformat()}"
