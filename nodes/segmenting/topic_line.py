"""Hold what is known of a turn's place in the course of topics, or read it from the turn's own words."""

from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.language.keywords import keywords_of, topic_of
from langgraph_engram.schema import Event, Turn


@dataclass(frozen=True)
class TopicLine:
    """What is known of one turn's place in the course of topics."""

    topic: str = ""
    keywords: tuple[str, ...] = ()
    noted: bool = True
    """Whether a model noted it; what is read from the turn's own words names no event."""
    transition: str = ""
    p_label: float = 0.0
    """The probability of a boundary before this turn that its own label gives."""
    p_eb: float | None = None
    """The probability of a boundary before this turn, where it was judged."""
    cut: bool = False
    """Whether an event begins at this turn."""

    @property
    def described(self) -> str:
        """Give topic and keywords as the text that is embedded (ES-Mem section 3.1)."""
        return f"{self.topic}. {', '.join(self.keywords)}"


def provisional_lines(turns: Sequence[Turn], topic: str) -> list[TopicLine]:
    """Name what turns are about by their own words.

    Args:
        turns: Turns in order.
        topic: What the conversation was about until now; empty for nothing yet.

    Returns:
        One line a turn, without a cut. A turn without a word of its own, or that nobody spoke, keeps the topic before
        it.
    """
    lines: list[TopicLine] = []
    for turn in turns:
        if not turn.is_spoken:
            lines.append(TopicLine(topic, noted=False))
            continue
        keywords = keywords_of(" ".join([turn.text, *turn.captions]))
        topic = topic_of(keywords, topic)
        lines.append(TopicLine(topic, tuple(keywords), noted=False))
    return lines


def last_topic(going: Event | None) -> str:
    """Give what an open event was last about; empty for none."""
    return going.topics[-1] if going and going.topics else ""
