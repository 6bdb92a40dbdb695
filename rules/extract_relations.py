"""List relations between people without a model: what one says to or about the other with feeling or thanks."""

import re

from langgraph_engram.language.sentences import split_sentences
from langgraph_engram.language.small_talk import is_small_talk
from langgraph_engram.language.times import resolve_times
from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.schema import Turn

RELATION = re.compile(
    r"\b(?:thank|grateful|support|proud of|happy for|inspir\w+|encourag\w+|help\w*|agree\w*|recommend\w*|"
    r"suggest\w*|advi[cs]e\w*|miss you|love you|congrat\w*|together|both|admire\w*|trust\w*|worried about|sorry|"
    r"because|so that)\b",
    re.IGNORECASE,
)


def extract_relations(question: ExtractRelations | ExtractRecords) -> SourcedSentences:
    """Give the sentences that show one person acting on another, with both named."""
    people = list(dict.fromkeys(turn.speaker for turn in (*question.context, *question.turns)))
    found = [
        SourcedSentence(sources=[number], content=f"{turn.speaker} to {_others(turn, people)}: {said}")
        for number, turn in enumerate(question.turns, start=1)
        for said in _relations_of(turn, people)
    ]
    return SourcedSentences(sentences=found)


def _relations_of(turn: Turn, people: list[str]) -> list[str]:
    kept = (one for one in split_sentences(turn.text) if RELATION.search(one) and not is_small_talk(one, people))
    return [resolve_times(sentence, turn.said_at) for sentence in kept]


def _others(turn: Turn, people: list[str]) -> str:
    return ", ".join(name for name in people if name != turn.speaker) or "themselves"
