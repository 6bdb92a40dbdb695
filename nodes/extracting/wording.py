"""Find the words of a record: a draft's own, or where it has none or only copies, the sentences as they were said.

A sentence kept as it was said stands after its speaker's name, so that "I" has an owner; a model's words that still
say "I" get the same name. Rewriting pronouns by rule gets quotes and general truths wrong.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.language.citations import CITATION
from langgraph_engram.language.sentences import split_sentences
from langgraph_engram.language.tokens import words
from langgraph_engram.prompts.sentences import Sentence
from langgraph_engram.schema import Turn

FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b")
LEAST_COPIED = 3
"""Words from which a copy says which sentence it is of."""
LEAST_REPEATED = 8
"""Words from which a sentence is known by most of them."""
REPEATED = 0.85
"""Share of the words of the longer that a part of a draft and a sentence have in common where one repeats the other."""
QUOTED = re.compile(r"[\"“][^\"“”]*[\"”]")


@dataclass(frozen=True)
class Wording:
    """The words of one record and the sentences they come from."""

    content: str
    sentences: tuple[Sentence, ...]
    as_said: bool
    """Whether the words are those that were said."""

    @property
    def turns(self) -> list[Turn]:
        """Give the turns it rests on, in order: those of its sentences, and of a question that is told with them."""
        asked = [one.answers for one in self.sentences if self.as_said and one.answers]
        found = {turn.turn_id: turn for turn in (*asked, *(one.turn for one in self.sentences))}
        return sorted(found.values(), key=lambda turn: turn.seq)


def wordings(content: str, cited: Sequence[Sentence], sentences: Sequence[Sentence] = ()) -> list[Wording]:
    """Give the words that a draft stands for.

    Args:
        content: The draft's own words; may be empty.
        cited: The sentences it cites, in its order; may be none.
        sentences: All that it was shown: what it copies from them rests on those, whatever it cites.

    Returns:
        One wording; or one for each sentence where the draft has no words of its own; or none where it has nothing.
    """
    plain = " ".join(CITATION.sub(" ", content).split()) if words(content) else ""  # a copy may hold its numbers
    if cited and (not plain or is_copy(plain, cited)):
        return [Wording(one.as_said, (one,), as_said=True) for one in cited]
    if not plain:
        return []
    copied = copied_from(plain, sentences)
    if any(one not in cited for one in copied):
        return [Wording(one.as_said, (one,), as_said=True) for one in copied if one.number]
    return [Wording(_owned(plain, cited), tuple(cited), as_said=False)]


def copied_from(content: str, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Give the sentences that a draft's words are copied from, in its order; none where a part of it is no copy.

    Small models copy a sentence or a whole turn, with a word changed or another speaker's name, and put the number of
    its neighbour beside it.
    """
    speakers = "|".join(re.escape(name) for name in {one.turn.speaker for one in sentences})
    parts = split_sentences(re.sub(rf"(?:^|(?<=\s))(?:{speakers}):\s+", "", content))
    told = [part for part in parts if len(words(part)) >= LEAST_COPIED]
    found = [next((one for one in sentences if _repeats(part, one)), None) for part in told]
    copied = [one for one in found if one]
    return copied if len(copied) == len(found) else []


def is_copy(content: str, cited: Sequence[Sentence]) -> bool:
    """Say whether words are but a stretch of what the sentences say."""
    said = " ".join(words(" ".join(sentence.as_said for sentence in cited)))
    return f" {' '.join(words(content))} " in f" {said} "


def _repeats(part: str, sentence: Sentence) -> bool:
    """Say whether a part of a draft is a stretch of a sentence, or all of it but a word or two of many."""
    if is_copy(part, [sentence]):
        return True
    told, said = Counter(words(part)), Counter(words(sentence.resolved))
    longest = max(told.total(), said.total())
    return longest >= LEAST_REPEATED and (told & said).total() >= REPEATED * longest


def _owned(content: str, cited: Sequence[Sentence]) -> str:
    """Put the speaker's name before words that still speak as "I"."""
    speakers = list(dict.fromkeys(sentence.turn.speaker for sentence in cited))
    if len(speakers) == 1 and FIRST_PERSON.search(QUOTED.sub("", content)) and speakers[0] not in content:
        return f"{speakers[0]}: {content}"
    return content
