"""Choose the memories that matter without a model: those that cover something the query names."""

from langgraph_engram.prompts.select_records import Selection, SelectRecords
from langgraph_engram.rules.coverage import covering_order, needed_stems, piece_text
from langgraph_engram.text.tokens import content_stems

MOST = 8


def select_records(question: SelectRecords) -> Selection:
    """Give the numbers of the candidates that mention anything needed, best first, at most eight."""
    needed = needed_stems(question.query, question.intent)
    order = covering_order(question.query, question.intent, question.candidates)
    kept = [place for place in order if needed & set(content_stems(piece_text(question.candidates[place])))]
    return Selection(numbers=[place + 1 for place in kept[:MOST]])
