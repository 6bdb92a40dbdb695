"""List relations between people without a model: what one says to or about the other with feeling or thanks."""

import re
from collections.abc import Sequence

from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.rendering import Sentence, number_sentences

RELATION = re.compile(
    r"\b(?:thank|grateful|support|proud of|happy for|inspir\w+|encourag\w+|help\w*|agree\w*|recommend\w*|"
    r"suggest\w*|advi[cs]e\w*|miss you|love you|congrat\w*|together|both|admire\w*|trust\w*|worried about|sorry|"
    r"because|so that)\b",
    re.IGNORECASE,
)


def extract_relations(question: ExtractRelations) -> SourcedSentences:
    """Give the sentences that show one person acting on another, with both named."""
    people = list(dict.fromkeys(turn.speaker for turn in (*question.context, *question.turns)))
    sentences = number_sentences(question.turns, question.context)
    showing = [one for one in sentences if one.number and not one.image and RELATION.search(one.text)]
    return SourcedSentences(sentences=[_relation(one, people) for one in showing])


def _relation(sentence: Sentence, people: Sequence[str]) -> SourcedSentence:
    speaker = sentence.turn.speaker
    others = ", ".join(name for name in people if name != speaker) or "themselves"
    return SourcedSentence(sources=[sentence.number], content=f"{speaker} to {others}: {sentence.resolved}")
