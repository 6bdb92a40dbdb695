"""Label sentences without a model: their type by their words, and questions as nothing to remember."""

from langgraph_engram.prompts.label_sentences import LabelSentences, SentenceLabel, SentenceLabels
from langgraph_engram.prompts.rendering import Sentence, number_sentences
from langgraph_engram.text.statements import type_of


def label_sentences(question: LabelSentences) -> SentenceLabels:
    """Give each numbered sentence its label."""
    sentences = number_sentences(question.turns, question.context)
    return SentenceLabels(labels=[_label(sentence) for sentence in sentences if sentence.number])


def _label(sentence: Sentence) -> SentenceLabel:
    if sentence.image:
        return SentenceLabel(number=sentence.number, label="fact")
    if sentence.asks:
        return SentenceLabel(number=sentence.number, label="skip")
    return SentenceLabel(number=sentence.number, label=type_of(sentence.text, sentence.turn.said_at))
