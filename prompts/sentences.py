"""Number the sentences of turns, so that a model may point at what it keeps instead of copying it.

Small talk is shown without a number: nobody can cite it. A short reply carries the question it answers, because neither
means anything alone. Times are written out before any model reads them. This module does not know what is kept.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langgraph_engram.language.sentences import ends_asking, question_at_end, split_sentences
from langgraph_engram.language.small_talk import is_small_talk
from langgraph_engram.language.times import resolve_times
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.prompts.quoting import day_headings, inside, plain, quote_turn
from langgraph_engram.schema import Turn

SHORT_REPLY_STEMS = 5
"""Content stems up to which a reply is kept with its question."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a turn, or one image that it shares."""

    turn: Turn
    text: str
    """As it was said; of an image, what it shows."""
    number: int = 0
    """From 1; 0 for small talk, which nobody can cite."""
    image: bool = False
    answers: Turn | None = None
    """The turn before, if it ends with a question that this short reply answers."""

    @property
    def asks(self) -> bool:
        """Say whether it is a question, and so states nothing."""
        return not self.image and ends_asking(self.text)

    @property
    def resolved(self) -> str:
        """Give the words with their times written out; of an image, that it is one."""
        return f"shares an image: {self.text}" if self.image else resolve_times(self.text, self.turn.said_at)

    @property
    def as_said(self) -> str:
        """Give the words so that they stand alone: after the speaker's name, and after the question they answer."""
        said = f"{self.turn.speaker} {self.resolved}" if self.image else f"{self.turn.speaker}: {self.resolved}"
        asked = question_at_end(self.answers.text) if self.answers else ""
        return f"{self.answers.speaker}: {asked} {said}" if self.answers and asked else said


def number_sentences(turns: Sequence[Turn], context: Sequence[Turn] = ()) -> list[Sentence]:
    """Split turns into sentences, in order, and number from 1 those that say anything.

    Args:
        turns: The core turns.
        context: The turns before them, whose last question the first turn may answer.
    """
    people = {turn.speaker for turn in (*context, *turns)}
    earlier = context[-1] if context else None
    found: list[Sentence] = []
    for turn in turns:
        found.extend(_sentences_of(turn, earlier, people))
        earlier = turn
    numbers = iter(range(1, len(found) + 1))
    return [Sentence(one.turn, one.text, next(numbers), one.image, one.answers) if one.number else one for one in found]


def _sentences_of(turn: Turn, earlier: Turn | None, people: Collection[str]) -> Iterator[Sentence]:
    asked = earlier if earlier and earlier.speaker != turn.speaker and question_at_end(earlier.text) else None
    for text in split_sentences(turn.text):
        if is_small_talk(text, people):
            yield Sentence(turn, text)
            continue
        yield Sentence(turn, text, number=1, answers=asked if is_short_reply(text) else None)
        asked = None
    yield from (Sentence(turn, caption, number=1, image=True) for caption in turn.captions if caption.strip())


def is_short_reply(sentence: str) -> bool:
    """Say whether a sentence is too short to stand without the question it answers."""
    return not ends_asking(sentence) and len(content_stems(sentence)) <= SHORT_REPLY_STEMS


def render_sentences(
    system: str,
    turns: Sequence[Turn],
    context: Sequence[Turn],
    event_starts: Collection[int] = (),
    shown: Sequence[str] = (),
) -> list[BaseMessage]:
    """Word an extraction: the rules, the turns that are read only, and the core turns with their sentences numbered.

    Args:
        system: The rules, the same for every call, so that a prompt cache hits.
        turns: The core turns.
        context: Turns before them.
        event_starts: Places of turns at which an event begins; none where events are not told apart.
        shown: What is read in place of each sentence, small talk and images included, in the order of
            `number_sentences`; none to read what was said, its times written out.
    """
    earlier = "\n".join(quote_turn(turn) for turn in context)
    parts = [inside("context", earlier)] if earlier else []
    lines = "\n".join(_lines(turns, context, event_starts, shown))
    return [SystemMessage(system), HumanMessage("\n\n".join([*parts, inside("conversation", lines)]))]


def _lines(
    turns: Sequence[Turn], context: Sequence[Turn], event_starts: Collection[int], shown: Sequence[str]
) -> Iterator[str]:
    sentences = number_sentences(turns, context)
    worded = list(zip(sentences, shown or [one.resolved for one in sentences], strict=True))
    event = 0
    for place, (heading, turn) in enumerate(zip(day_headings(one.said_at for one in turns), turns, strict=True)):
        yield from heading
        if place in event_starts:
            event += 1
            yield f"== event {event}"
        said = " ".join(_numbered(one, words) for one, words in worded if one.turn is turn)
        yield f"{plain(turn.speaker)}: {said}"


def _numbered(sentence: Sentence, words: str) -> str:
    line = plain(f"({words})" if sentence.image else words)
    return f"[{sentence.number}] {line}" if sentence.number else line
