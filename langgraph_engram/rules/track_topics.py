"""Follow topics without a model: a turn's topic is its keywords, its label comes from cues and shared words."""

from langgraph_engram.prompts.track_topics import TopicNote, TopicTrack, TrackTopics
from langgraph_engram.rules.shift import label_turn
from langgraph_engram.schema import Turn
from langgraph_engram.text.keywords import keywords_of, topic_of
from langgraph_engram.text.tokens import content_stems


def track_topics(question: TrackTopics) -> TopicTrack:
    """Give each turn its keywords as topic, and the label that cues and shared words suggest."""
    turns = (*question.before, *question.turns)
    first = len(question.before)
    topic = question.topic_before
    notes: list[TopicNote] = []
    for place, turn in enumerate(question.turns):
        keywords = keywords_of(" ".join([turn.text, *turn.captions]))
        now = topic_of(keywords, topic)
        label, confidence = label_turn(turns[: first + place], turn)
        notes.append(
            TopicNote(
                turn=place + 1,
                topic=now,
                keywords=keywords,
                label=label,
                confidence=confidence,
                transition=_transition(topic, now, turn) if label in ("topic_intro", "topic_shift") else "",
            )
        )
        topic = now
    return TopicTrack(notes=notes)


def _transition(earlier: str, later: str, turn: Turn) -> str:
    if not earlier or not content_stems(earlier):
        return f"The conversation turns to {later}, brought up by {turn.speaker}."
    return f"After {earlier}, {turn.speaker} brings up {later}."
