"""Follow topics and judge boundaries for ES-Mem without a language model: by cue words, questions and shared stems."""

import re
from collections.abc import Sequence

from langgraph_engram.prompts.describe_boundary import DescribeBoundary, boundary_text
from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, JudgeBoundary, LabelGuess
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, Label, TopicNote, TopicTrack, TrackTopics
from langgraph_engram.schema import Turn
from langgraph_engram.text.keywords import keywords_of, topic_of
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.tokens import content_stems

OPENING_CUE = re.compile(
    r"^\W*(?:(?:oh|well|so|hey|and)\W+)?(?:by the way|btw|anyway|speaking of|on another note|guess what|also,|"
    r"changing the subject|what about you|how about you|i (?:wanted|meant) to (?:tell|ask)|did i tell you)\b",
    re.IGNORECASE,
)
REPLY_CUE = re.compile(
    r"^\W*(?:yes|yeah|yep|no|nope|thanks|thank you|wow|that'?s|that is|sounds|i agree|totally|exactly|sure|cool|nice|"
    r"great|awesome|really|haha|lol|oh)\b",
    re.IGNORECASE,
)
LOOK_BACK = 2
"""Turns that a turn is compared with (L of ES-Mem section 3.1)."""
SURE, LIKELY, UNSURE = 0.9, 0.8, 0.6


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


def track_topics(question: TrackTopics) -> TopicTrack:
    """Return for each turn its keywords, and as topic the first of them; without any, the topic before goes on."""
    turns = [*question.before, *question.turns]
    topic = question.topic_before
    notes: list[TopicNote] = []
    for number, turn in enumerate(question.turns, start=1):
        keywords = keywords_of(" ".join([turn.text, *turn.captions]))
        topic = topic_of(keywords, topic)
        label, confidence = _label_turn(turns[: len(question.before) + number - 1], turn)
        notes.append(TopicNote(turn=number, topic=topic, keywords=keywords, label=label, confidence=confidence))
    return TopicTrack(notes=notes)


def _label_turn(before: Sequence[Turn], turn: Turn) -> tuple[Label, float]:
    """Return the likeliest label of a turn after others, and the confidence in it, in [0, 1]."""
    if not before:
        return "topic_intro", SURE
    if OPENING_CUE.search(turn.text):
        return "topic_shift", SURE
    if ends_asking(before[-1].text):
        return "direct_resp", SURE
    shared = _shares_words(before, turn)
    asks = ends_asking(turn.text)
    if REPLY_CUE.search(turn.text):
        return "direct_resp", UNSURE if asks and not shared else LIKELY
    if not shared:
        return "topic_shift", LIKELY if asks else UNSURE
    return "detail_elaborate", LIKELY


def _shares_words(before: Sequence[Turn], turn: Turn) -> bool:
    """Return whether a turn shares content words with the turns right before it; speakers' names do not count."""
    stems_before = {stem for earlier in before[-LOOK_BACK:] for stem in content_stems(earlier.indexed_text)}
    names = {stem for said in (*before, turn) for stem in content_stems(said.speaker)}
    return bool((set(content_stems(turn.text)) & stems_before) - names)
