"""Read turns without a language model: records, facts, key sentences and relations, topics and boundaries.

A record is one sentence as it was said; its type is read by cues. Topics and boundaries,
which ES-Mem asks for, are read by cue words, questions and shared stems.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from langgraph_engram.prompts.choose_statements import ChooseStatements
from langgraph_engram.prompts.describe_boundary import DescribeBoundary, boundary_text
from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import Extraction, ExtractLasting, ExtractRecords, RecordDraft
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.judge_boundary import SHIFT_LABELS, BoundaryVerdict, JudgeBoundary, Label, LabelGuess
from langgraph_engram.prompts.rendering import AboutSentences, Sentence, number_sentences
from langgraph_engram.prompts.track_topics import TopicNote, TrackTopics
from langgraph_engram.schema import Turn
from langgraph_engram.text.keywords import keywords_of, topic_of
from langgraph_engram.text.markdown import prose_of
from langgraph_engram.text.questions import REPLY
from langgraph_engram.text.sentences import ends_asking, split_sentences
from langgraph_engram.text.statements import type_of
from langgraph_engram.text.words import content_stems

LEAST_STEMS = 3
"""Content stems that a key sentence has more than."""
BETWEEN_PEOPLE = re.compile(
    r"\b(?:thank|grateful|support|proud of|happy for|inspir\w+|encourag\w+|help\w*|agree\w*|recommend\w*|"
    r"suggest\w*|advi[cs]e\w*|miss you|love you|congrat\w*|together|both|admire\w*|trust\w*|worried about|sorry|"
    r"because|so that)\b",
    re.IGNORECASE,
)
"""Words by which one person acts on or speaks of another."""
OPENING_CUE = re.compile(
    r"^\W*(?:(?:oh|well|so|hey|and)\W+)?(?:by the way|btw|anyway|speaking of|on another note|guess what|also,|"
    r"changing the subject|what about you|how about you|i (?:wanted|meant) to (?:tell|ask)|did i tell you)\b",
    re.IGNORECASE,
)
LOOK_BACK = 2
"""Turns that a turn is compared with (L of ES-Mem section 3.1)."""
SURE, LIKELY, UNSURE = 0.9, 0.8, 0.6


def extract_records(question: ExtractRecords | ExtractLasting) -> Extraction:
    """Return one record for each numbered sentence and each image; its other dimensions are read when it is made."""
    return Extraction(
        records=[
            RecordDraft(
                sources=[said.number],
                memory_type="fact" if said.image else type_of(said.text, said.turn.said_at),
                content=said.as_said,
            )
            for said in _outside_chunks(question)
        ]
    )


def extract_facts(question: ExtractFacts) -> SourcedSentences:
    """Return the sentences that ask nothing, in order."""
    return _pointed_at(sentence for sentence in _numbered(question) if not sentence.asks)


def extract_key_sentences(question: ExtractKeySentences) -> SourcedSentences:
    """Return the sentences with more than a few content words, in order."""
    sentences = _numbered(question)
    return _pointed_at(sentence for sentence in sentences if len(set(content_stems(sentence.as_said))) > LEAST_STEMS)


def extract_relations(question: ExtractRelations) -> SourcedSentences:
    """Return the sentences that show one person acting on another, with both named."""
    people = list(dict.fromkeys(turn.speaker for turn in (*question.context, *question.turns)))
    telling = (sentence for sentence in _numbered(question) if not sentence.image)
    relations: list[SourcedSentence] = []
    for sentence in filter(lambda said: BETWEEN_PEOPLE.search(said.text), telling):
        speaker = sentence.turn.speaker
        others = ", ".join(name for name in people if name != speaker) or "themselves"
        content = f"{speaker} to {others}: {sentence.resolved}"
        relations.append(SourcedSentence(sources=[sentence.number], content=content))
    return SourcedSentences(sentences=relations)


def choose_statements(question: ChooseStatements) -> str:
    """Return a line for each sentence of lasting traits and tastes, as far as may be chosen, and no note."""
    said = (sentence for session in question.statements for sentence in session if sentence.number)
    people = (sentence for sentence in said if sentence.turn.role != "assistant" and not sentence.asks)
    lasting = [sentence for sentence in people if type_of(sentence.text, sentence.turn.said_at) == "profile"]
    return "\n".join(f"{sentence.number} state 1" for sentence in lasting[: question.most])


def judge_boundary(question: JudgeBoundary) -> BoundaryVerdict:
    """Return the likeliest label, and as the least likely one the opposite with the probability that is left."""
    label, confidence = _label_turn(question.before, question.after[0])
    opposite: Label = "direct_resp" if label in SHIFT_LABELS else "topic_shift"
    return BoundaryVerdict(
        likeliest=LabelGuess(label=label, probability=confidence),
        least_likely=LabelGuess(label=opposite, probability=1 - confidence),
    )


def describe_boundary(question: DescribeBoundary) -> str:
    """Return one sentence made of the summaries of what ended and what began, and the time between."""
    earlier, later = question.earlier_summary, question.later_summary
    return boundary_text(question.kind, earlier, later, question.first_turns, question.gap)


def track_topics(question: TrackTopics) -> TopicNote:
    """Return a turn's keywords, and as topic the first of them; without any, the topic before goes on."""
    keywords = keywords_of(question.turn.said)
    return TopicNote(topic=topic_of(keywords, question.topic_before), keywords=keywords)


def _numbered(question: AboutSentences) -> list[Sentence]:
    """Return the sentences that have numbers, without small talk."""
    sentences = number_sentences(question.turns, question.context, small_talk=True)
    return [sentence for sentence in sentences if sentence.number and not sentence.is_small_talk]


def _pointed_at(sentences: Iterable[Sentence]) -> SourcedSentences:
    found = [SourcedSentence(sources=[sentence.number], content=sentence.as_said) for sentence in sentences]
    return SourcedSentences(sentences=found)


def _outside_chunks(question: AboutSentences) -> Iterator[Sentence]:
    """Return the numbered sentences, of turns that are kept as chunks only images and the paragraphs of a person."""
    prose = {
        turn.turn_id: frozenset(split_sentences(prose_of(turn.text)) if turn.role != "assistant" else ())
        for turn in question.turns
        if turn.turn_id in question.in_chunks
    }
    for sentence in _numbered(question):
        own = prose.get(sentence.turn.turn_id)
        if own is None or sentence.image or sentence.text in own:
            yield sentence


def _label_turn(before: Sequence[Turn], turn: Turn) -> tuple[Label, float]:
    """Return the likeliest label of a turn after others, and the confidence in it, in [0, 1]."""
    if not before:
        return "topic_intro", SURE
    if OPENING_CUE.search(turn.text):
        return "topic_shift", SURE
    if ends_asking(before[-1].text):
        return "direct_resp", SURE
    stems_before = {stem for earlier in before[-LOOK_BACK:] for stem in content_stems(earlier.indexed_text)}
    names = {stem for said in (*before, turn) for stem in content_stems(said.speaker)}
    shared = (stems_before & set(content_stems(turn.text))) - names
    asks = ends_asking(turn.text)
    if REPLY.search(turn.text):
        return "direct_resp", UNSURE if asks and not shared else LIKELY
    if not shared:
        return "topic_shift", LIKELY if asks else UNSURE
    return "detail_elaborate", LIKELY
