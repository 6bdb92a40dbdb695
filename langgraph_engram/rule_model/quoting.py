"""Answer without a language model by quoting: up to three sentences as they were said, each with speaker and day.

Nothing is read off a sentence and no clause is cut from it, so that no quote says what was not said. What has been
superseded is quoted only together with what took its place. Sentences are chosen by how relevant their passage is and
by how many of the query's content words they hold.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.rendering import CITATION, is_short_reply
from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.rule_model.selection import needed_stems
from langgraph_engram.schema import Evidence, Intent, Turn
from langgraph_engram.temporal.resolve import resolve_times
from langgraph_engram.text.keywords import extractive_narrative, is_small_talk
from langgraph_engram.text.sentences import question_at_end, split_sentences
from langgraph_engram.text.slots import told_stems
from langgraph_engram.text.statements import is_question, own_words
from langgraph_engram.text.tokens import content_stems, words

Turns: TypeAlias = Mapping[tuple[str, int], Turn]
"""Turns by their session and their place in it."""
MOST_QUOTES = 3
OPENING_WORDS = 6
"""Words by which a sentence is found in the text of a passage."""
RELEVANCE, COVERED, REPLY, BY_ANOTHER = 1.0, 0.5, 0.25, 0.3
"""Weights of a passage's relevance, of the query's words in the sentence and in the question that it replies to; and
what a sentence loses that somebody else said than whom the query names."""
CHANGED = "\nChanged since: "
"""What stands in a passage between a superseded record and the one that took its place."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence that may be quoted."""

    number: int
    """The number of its passage, from 1."""
    speaker: str
    said_at: datetime | None
    text: str
    """As it was said."""
    replies_to: str = ""
    """The question before a short reply, where that is known."""
    image: bool = False
    """Whether it says what an image shows."""
    changed_to: "Sentence | None" = None
    """What took its place, where it has been superseded."""

    @property
    def key(self) -> tuple[str, str]:
        """Return what two sentences share that say the same in the same words."""
        return self.speaker, " ".join(words(self.text))

    def __str__(self) -> str:
        """Return the sentence with who said it and when."""
        day = f"{self.said_at.day} {self.said_at:%b %Y}" if self.said_at else ""
        who = ", ".join(part for part in (self.speaker, day) if part) or "Somebody"
        how = f', asked "{self.replies_to}"' if self.replies_to else ", shares an image" if self.image else ""
        since = f" Changed since: {self.changed_to}" if self.changed_to else ""
        return f'{who}{how}: "{_without_numbers(self.text)}"{since}'


def quote(question: AnswerLight | WriteAnswer) -> str:
    """Return up to three quotes, one a line, best first; the word for unknown where there is nothing to quote."""
    sentences = _distinct(question.evidence)
    ranked = _ranked(question.query, question.intent, sentences, question.evidence)
    stating = [sentence for sentence in ranked if not is_question(sentence.text)] or ranked
    return "\n".join(f"{sentence} [{sentence.number}]" for sentence in stating[:MOST_QUOTES]) or UNKNOWN


def write_synthesis(question: WriteSynthesis) -> str:
    """Return the sentences whose words recur most, those of earlier events first, under their days."""
    return extractive_narrative(question.buffer, question.history, question.most_words)


def _ranked(query: str, intent: Intent, sentences: Sequence[Sentence], evidence: Sequence[Evidence]) -> list[Sentence]:
    """Order sentences by how well they answer, best first."""
    held = [told_stems(sentence.text, sentence.speaker) for sentence in sentences]
    weights = _rarity(needed_stems(query, intent), held)
    best = max((piece.score for piece in evidence), default=0.0) or 1.0

    def score(sentence: Sentence, stems: Set[str]) -> float:
        piece = evidence[sentence.number - 1]
        reply = set(content_stems(sentence.replies_to)) - stems
        by_another = bool(intent.speakers) and sentence.speaker not in intent.speakers
        return (
            RELEVANCE * (piece.relevance or piece.score / best)
            + COVERED * _covered(stems, weights)
            + REPLY * _covered(reply, weights)
            - BY_ANOTHER * by_another
        )

    scores = [score(sentence, stems) for sentence, stems in zip(sentences, held, strict=True)]
    return [sentences[index] for index in sorted(range(len(sentences)), key=lambda index: -scores[index])]


def _rarity(needed: Set[str], held: Sequence[Set[str]]) -> dict[str, float]:
    """Return the weight of each stem, higher the fewer sentences hold it; together 1."""
    raw = {stem: math.log(1 + len(held) / (1 + sum(stem in stems for stems in held))) for stem in sorted(needed)}
    whole = sum(raw.values()) or 1.0
    return {stem: value / whole for stem, value in raw.items()}


def _covered(stems: Set[str], weights: Mapping[str, float]) -> float:
    return sum(weight for stem, weight in weights.items() if stem in stems)


def _distinct(evidence: Sequence[Evidence]) -> list[Sentence]:
    """Return each sentence that the passages show once; without small talk.

    Superseded ones come first with what took their place, so that no other passage shows either of them alone.
    """
    turns = {(turn.session_id, turn.seq): turn for piece in evidence for turn in piece.turns}
    people = {turn.speaker for turn in turns.values()}
    numbered = sorted(enumerate(evidence, start=1), key=lambda one: not _is_superseded(one[1]))
    found: dict[tuple[str, str], Sentence] = {}
    known: set[tuple[str, str]] = set()
    for number, piece in numbered:
        for sentence in _changed(number, piece, turns) if _is_superseded(piece) else _shown(number, piece, turns):
            if sentence.key not in known and not is_small_talk(sentence.text, people):
                found[sentence.key] = sentence
            known |= {sentence.key, *([sentence.changed_to.key] if sentence.changed_to else [])}
    return sorted(found.values(), key=lambda sentence: sentence.number)


def _is_superseded(piece: Evidence) -> bool:
    return piece.record is not None and piece.record.status == "superseded"


def _changed(number: int, piece: Evidence, turns: Turns) -> Iterator[Sentence]:
    """Return what a superseded record says with what took its place; nothing where that is not shown."""
    before, _, after = piece.text.partition(CHANGED)
    sources = set(piece.record.source_turn_ids) if piece.record else set()
    of_older = [turn for turn in piece.turns if turn.turn_id in sources]
    of_newer = [turn for turn in piece.turns if turn.turn_id not in sources]
    older = piece.model_copy(update={"text": before, "turns": of_older})
    newer = Evidence(evidence_id=piece.evidence_id, text=after, turns=of_newer)
    later = next(_shown(number, newer, turns), None) if after else None
    yield from (replace(sentence, changed_to=later) for sentence in _shown(number, older, turns) if later)


def _shown(number: int, piece: Evidence, turns: Turns) -> Iterator[Sentence]:
    """Return the sentences of the turns under a passage that it shows; all of them where it tells them otherwise."""
    if not piece.turns:
        yield from _without_turns(number, piece)
        return
    shown = " ".join(words(piece.text))
    said = [sentence for turn in piece.turns for sentence in _said(number, turn, turns)]
    yield from [one for one in said if _opening(one) in shown] or said


def _said(number: int, turn: Turn, turns: Turns) -> Iterator[Sentence]:
    """Return the sentences and captions of a turn."""
    before = turns.get((turn.session_id, turn.seq - 1))
    asked = question_at_end(before.text) if before and before.speaker != turn.speaker else ""
    for position, text in enumerate(split_sentences(turn.text)):
        replies_to = asked if position == 0 and is_short_reply(text) else ""
        yield Sentence(number, turn.speaker, turn.said_at, text, replies_to)
    yield from (Sentence(number, turn.speaker, turn.said_at, caption, image=True) for caption in turn.captions)


def _without_turns(number: int, piece: Evidence) -> Iterator[Sentence]:
    """Return what a record says whose turns are gone; nothing of a synthesis, which nobody said."""
    if piece.record:
        record = piece.record
        yield Sentence(number, record.speaker, record.mentioned_at, own_words(record.content, record.speaker))
    elif not piece.synthesis_id and piece.text:
        yield Sentence(number, "", None, piece.text)


def _opening(sentence: Sentence) -> str:
    """Return the words with which a sentence begins in the text of a passage, where its times are resolved."""
    return " ".join(words(resolve_times(sentence.text, sentence.said_at))[:OPENING_WORDS])


def _without_numbers(text: str) -> str:
    """Return a text in which nothing looks like the number of a passage."""
    return CITATION.sub(lambda match: match.group().replace("[", "(").replace("]", ")"), text)
