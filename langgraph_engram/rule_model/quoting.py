"""Answer a query by quotes, without a language model.

A quote has its speaker, its day and the number of its passage. It is one whole sentence, or two where its speaker says
more in a turn close by. What a person has corrected stands in place of what was said, marked as such. What has been
superseded is quoted only behind what took its place, and a conflict with both sides.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.list_items import ListItems
from langgraph_engram.prompts.rendering import BUT_ALSO, CHANGED_SINCE, CITATION, Sentence, number_sentences
from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.rule_model.recall import needed_stems
from langgraph_engram.schema import Evidence, Intent, Record, Turn
from langgraph_engram.text.markdown import chunks_of, statements_of, without_code
from langgraph_engram.text.questions import Told, newest_first
from langgraph_engram.text.statements import expanded_stems, is_question, own_words, speaks_of_self
from langgraph_engram.text.words import words

MAX_QUOTES = 3
MAX_LISTED = 12
OPENING_WORDS = 6
"""Words by which a sentence is found in the text of a passage."""
RELEVANCE, RANK, COVERED, ASKS, BY_ANOTHER = 1.0, 2.0, 0.4, -1.0, -0.7
"""Weights of a passage's relevance and its reciprocal rank, of the query's words in a sentence, of one that asks, and
of one by somebody else than the query names: a softmax over sentences, fitted on LoCoMo and rounded."""
REACH = 2
"""Turns between two sentences of the same person that are quoted together, at most."""
JOIN_RELEVANCE = 0.05
"""Share of the relevance of the better one that the other has at least."""
MIN_RELEVANCE = 0.02
"""Share of the relevance of the best passage from which a further quote is given."""
MAX_SUPERSEDED = 2
"""Superseded sentences behind what took their place."""


@dataclass(frozen=True, slots=True)
class Quotable:
    """One sentence that may be quoted."""

    number: int
    """The number of its passage, from 1."""
    relevance: float
    """Of its passage, in [0, 1]."""
    speaker: str
    said_at: datetime | None
    text: str
    turn: tuple[str, int] | None = None
    """Session and position of its turn; None where the turn is gone."""
    how: str = ""
    """What is to be told before its words: that it replies, is an image, or was corrected."""
    earlier: tuple["Quotable", ...] = ()
    """What it took the place of."""
    rivals: tuple["Quotable", ...] = ()
    """What cannot be true together with it."""

    @property
    def key(self) -> tuple[str, str]:
        """Return what two sentences share that say the same in the same words."""
        return self.speaker, _plain(self.text)

    @property
    def day(self) -> str:
        """Return the day on which it was said; empty for an unknown one."""
        return f"{self.said_at.day} {self.said_at:%b %Y}" if self.said_at else ""

    @property
    def source(self) -> str:
        """Return who said it and when, as far as that is known."""
        return ", ".join(filter(None, (self.speaker, self.day)))

    @property
    def quoted(self) -> str:
        """Return the words between quotation marks; no number in them looks like a citation."""
        text = CITATION.sub(lambda match: match.group().replace("[", "(").replace("]", ")"), self.text)
        return f'{self.how}"{text}"'


def quote(question: AnswerLight | WriteAnswer | ListItems) -> str:
    """Return quotes, one a line, best first; the word for unknown where there is nothing to quote.

    There are up to three, and of what needs the whole one of each session, up to twelve.
    """
    sentences = _distinct(question.evidence)
    scores = _scores(question.query, question.intent, sentences)
    best = max((sentence.relevance for sentence in sentences), default=0.0)
    lines: list[str] = []
    quotes = list(_choose(sentences, scores))
    if isinstance(question, ListItems):
        quotes += _best_of_others(sentences, scores, quotes)
    for quoted in newest_first(question.query, question.intent.time, quotes, _told_by):
        together = [member for sentence in quoted for member in (sentence, *sentence.earlier)]
        if not lines or max(sentence.relevance for sentence in together) >= MIN_RELEVANCE * best:
            numbers = dict.fromkeys(sentence.number for sentence in together)
            lines.append(f"{_line(quoted)} {''.join(f'[{number}]' for number in numbers)}")
    return "\n".join(lines) or UNKNOWN


def _choose(sentences: Sequence[Quotable], scores: Sequence[float]) -> Iterator[list[Quotable]]:
    """Yield the best sentences, each with the best one that is said close by; no turn twice."""
    best_first = [sentences[index] for index in sorted(range(len(sentences)), key=lambda index: -scores[index])]
    left = [sentence for sentence in best_first if not is_question(sentence.text)] or best_first
    for _ in range(MAX_QUOTES):
        if not left:
            return
        best, *others = left
        close_by = next((other for other in others if _is_close_by(best, other)), None)
        quoted = sorted((best, close_by), key=lambda sentence: sentence.turn or ()) if close_by else [best]
        yield quoted
        turns = {sentence.turn for sentence in quoted if sentence.turn}
        rivals = {rival.key for sentence in quoted for rival in sentence.rivals}
        left = [other for other in others if not (other is close_by or other.turn in turns or other.key in rivals)]


def _best_of_others(
    sentences: Sequence[Quotable], scores: Sequence[float], quotes: Sequence[list[Quotable]]
) -> Iterator[list[Quotable]]:
    """Yield the best sentence of each session that no quote is from, best first."""
    seen = {sentence.turn[0] for quoted in quotes for sentence in quoted if sentence.turn}
    for place in sorted(range(len(sentences)), key=lambda place: -scores[place]):
        sentence = sentences[place]
        session = sentence.turn[0] if sentence.turn else ""
        if session not in seen and not is_question(sentence.text) and len(seen) < MAX_LISTED:
            seen.add(session)
            yield [sentence]


def _told_by(quoted: Sequence[Quotable]) -> Told:
    first, relevance = quoted[0], max(sentence.relevance for sentence in quoted)
    day = first.said_at.toordinal() if first.said_at else 0
    return first.speaker, day, relevance, any(speaks_of_self(sentence.text) for sentence in quoted)


def _is_close_by(sentence: Quotable, other: Quotable) -> bool:
    """Return whether the same person says the other one in another turn close by, that day, and it is relevant."""
    beside = (sentence.earlier, other.earlier, sentence.rivals, other.rivals)
    if not (sentence.turn and other.turn) or any(beside):
        return False
    (session, seq), (other_session, other_seq) = sentence.turn, other.turn
    near = session == other_session and 0 < abs(other_seq - seq) <= REACH and sentence.day == other.day
    return near and sentence.speaker == other.speaker and other.relevance >= JOIN_RELEVANCE * sentence.relevance


def _line(sentences: Sequence[Quotable]) -> str:
    """Return sentences of one exchange with who said them and when; then what is no longer so, or contradicts them."""
    source = sentences[0].source
    mark = "" if not source else ", " if sentences[0].how else ": "
    said = " … ".join(sentence.quoted for sentence in sentences)
    before = "; ".join(f"{older.day}: {older.quoted}" for sentence in sentences for older in sentence.earlier)
    beside = "; ".join(f"{rival.source}: {rival.quoted}" for sentence in sentences for rival in sentence.rivals)
    return f"{source}{mark}{said}{before and f' Before, {before}'}{beside and f' But also, {beside}'}"


def _scores(query: str, intent: Intent, sentences: Sequence[Quotable]) -> list[float]:
    """Return how well each sentence, or what it took the place of, answers."""
    every = [member for sentence in sentences for member in (sentence, *sentence.earlier)]
    stems_of = {sentence: expanded_stems(sentence.text, sentence.speaker) for sentence in every}
    weights = _rarity(needed_stems(query, intent), list(stems_of.values()))

    def score(sentence: Quotable) -> float:
        return (
            RELEVANCE * sentence.relevance
            + RANK / sentence.number
            + COVERED * sum(weight for stem, weight in weights.items() if stem in stems_of[sentence])
            + ASKS * is_question(sentence.text)
            + BY_ANOTHER * (bool(intent.speakers) and sentence.speaker not in intent.speakers)
        )

    return [max(map(score, (sentence, *sentence.earlier))) for sentence in sentences]


def _rarity(needed: Set[str], said: Sequence[Set[str]]) -> dict[str, float]:
    """Return the weight of each stem, higher the fewer sentences have it; together 1."""
    raw = {stem: math.log(1 + len(said) / (1 + sum(stem in stems for stems in said))) for stem in sorted(needed)}
    whole = sum(raw.values()) or 1.0
    return {stem: value / whole for stem, value in raw.items()}


def _distinct(evidence: Sequence[Evidence]) -> list[Quotable]:
    """Return each sentence that the passages show once, without small talk, with what it changes or contradicts."""
    shown = _Shown.by(evidence)
    found: dict[tuple[str, str], Quotable] = {}
    outdated: set[tuple[str, str]] = set()
    current: list[Quotable] = []
    for number, passage in enumerate(evidence, start=1):
        record = passage.record
        if not (record and passage.shows_others):
            current += shown.sentences(number, passage)
            continue
        head, *contradicting = passage.text.split(BUT_ALSO)
        passage = passage.model_copy(update={"text": head})
        rivals = shown.rivals(number, passage, record, contradicting)
        beside = tuple(rivals.values())
        if record.status != "superseded":
            own = (sentence for sentence in shown.sentences(number, passage) if sentence.key not in rivals)
            current += (replace(sentence, rivals=beside) for sentence in own)
            continue
        older, newer = shown.changed(number, passage, record)
        outdated |= {sentence.key for sentence in older}
        if newer:
            known = found.get(newer.key, newer)
            found[newer.key] = replace(known, earlier=(*known.earlier, *older)[:MAX_SUPERSEDED], rivals=beside)
    for sentence in current:
        if sentence.key not in outdated:
            known = found.get(sentence.key, sentence)
            found[sentence.key] = replace(known, rivals=known.rivals or sentence.rivals)
    return sorted(found.values(), key=lambda sentence: sentence.number)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What passages show together."""

    turns: Mapping[tuple[str, int], Turn]
    """By session and position in it."""
    corrections: Sequence[Quotable]

    @classmethod
    def by(cls, evidence: Sequence[Evidence]) -> "_Shown":
        """Collect turns and corrections."""
        turns = {(turn.session_id, turn.seq): turn for passage in evidence for turn in passage.turns}
        corrections = [
            _of_record(number, passage, passage.record)
            for number, passage in enumerate(evidence, start=1)
            if passage.record and passage.record.is_edited
        ]
        return cls(turns, corrections)

    def sentences(self, number: int, passage: Evidence) -> Iterator[Quotable]:
        """Yield the sentences of a passage's turns that it shows; all of them where it tells them otherwise."""
        record, text = passage.record, passage.text
        if not passage.turns and record:
            yield replace(_of_record(number, passage, record), turn=None, how="")
        elif not passage.turns and text and not passage.synthesis_id:  # a synthesis nobody said
            yield Quotable(number, passage.relevance, "", None, text)
        if not passage.turns:
            return
        if record and record.is_chunk:
            yield from _of_chunk(number, passage, record)
            return
        if record and record.is_edited:
            correction = _of_record(number, passage, record)
            yield correction
            text = text.replace(correction.text, "")
        shown = _plain(text)
        said = [sentence for turn in passage.turns for sentence in self._said(turn)]
        openings = (" ".join(words(sentence.resolved)[:OPENING_WORDS]) for sentence in said)  # as the text shows them
        chosen = [sentence for sentence, opening in zip(said, openings, strict=True) if opening in shown]
        for sentence in chosen or (said if text == passage.text else []):
            yield _of_turn(number, passage, sentence)

    def changed(self, number: int, passage: Evidence, record: Record) -> tuple[list[Quotable], Quotable | None]:
        """Return what a superseded record says, and what took its place; none where the passage does not show that."""
        before, _, after = passage.text.partition(CHANGED_SINCE)
        own = [turn for turn in passage.turns if turn.turn_id in record.source_turn_ids]
        older = self.sentences(number, passage.model_copy(update={"text": before, "turns": own}))
        return list(older), next(self._of_others(number, passage, record, after), None) if after else None

    def rivals(
        self, number: int, passage: Evidence, record: Record, contradicting: Sequence[str]
    ) -> dict[tuple[str, str], Quotable]:
        """Return a sentence of each text that contradicts the record of a passage, by its key."""
        found: dict[tuple[str, str], Quotable] = {}
        if all(turn.turn_id in record.source_turn_ids for turn in passage.turns):
            return found
        for text in contradicting:
            said = self._of_others(number, passage, record, text)
            if rival := next((sentence for sentence in said if sentence.key not in found), None):
                found[rival.key] = rival
        return found

    def _of_others(self, number: int, passage: Evidence, record: Record, text: str) -> Iterator[Quotable]:
        """Yield what a text shows of the turns of a passage that are not its record's: corrections come first."""
        yield from (correction for correction in self.corrections if _plain(correction.text) in _plain(text))
        others = [turn for turn in passage.turns if turn.turn_id not in record.source_turn_ids]
        yield from self.sentences(number, passage.model_copy(update={"text": text, "turns": others, "record": None}))

    def _said(self, turn: Turn) -> Iterator[Sentence]:
        """Yield the sentences and captions of a turn, without small talk, code and tables."""
        before = self.turns.get((turn.session_id, turn.seq - 1))
        if chunks_of(turn.text, turn.role):
            turn = turn.model_copy(update={"text": without_code(turn.text)})
        yield from (sentence for sentence in number_sentences([turn], [before] if before else []) if sentence.number)


def _of_turn(number: int, passage: Evidence, said: Sentence) -> Quotable:
    turn, how = said.turn, "shares an image: " if said.image else ""
    how = f'asked "{said.question}": ' if said.question else how
    return Quotable(number, passage.relevance, turn.speaker, turn.said_at, said.text, (turn.session_id, turn.seq), how)


def _of_record(number: int, passage: Evidence, record: Record) -> Quotable:
    """Return what a record says; if a person wrote it in place of what was said, marked as such."""
    text, how = own_words(record.content, record.speaker), "as corrected: " if record.is_edited else ""
    place = (record.session_id, record.seq)
    return Quotable(number, passage.relevance, record.speaker, record.mentioned_at, text, place, how)


def _of_chunk(number: int, passage: Evidence, record: Record) -> Iterator[Quotable]:
    """Yield the sentences and items of a chunk of a long message; one of code alone is quoted whole."""
    text = record.content.removeprefix(f"{record.speaker}: ")
    message = _on_one_line("\n".join(turn.text for turn in passage.turns))
    stated = [said for said in map(_on_one_line, statements_of(text)) if said in message]  # headings are none
    yield from (
        replace(_of_record(number, passage, record), text=said, how="") for said in stated or [_on_one_line(text)]
    )


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    return " ".join(words(text))
