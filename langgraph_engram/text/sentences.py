"""Split text, English chat above all, into sentences.

An end mark ends a sentence unless it belongs to an abbreviation, a number, an ordinal ("am 22. Februar", "the 3. of
May"), an address or an initial. Those of Chinese, Japanese, Arabic, Urdu and Hindi end one without a space too. Emoji
and closing quotes stay with the sentence they follow. A line is a sentence of its own unless it is wrapped. No
character is lost but white space, and the time needed grows with the length of the text only.
"""

import re
from collections.abc import Iterator

MOST_CHARACTERS = 400
"""A sentence longer than this is split further, at a semicolon, a comma, a conjunction, or else between words."""
MOST_WITHOUT_SPACE = 2_000
"""Characters after which even a word is split: longer than an address is."""
MIN_PART = 80
MOST_SENTENCES = 2_500
"""A text of more is cut into longer pieces: about as many, whatever it is made of."""
WRAPPED = 60
"""A line at least this long, without an end mark, goes on in the next one if that starts in lower case."""
REACH = 24
"""Characters before a mark in which the word that it may belong to is looked for."""

WIDE_MARKS = "。｡！？؟۔।॥"
"""End marks of other scripts than Latin."""
WIDE_CLOSERS = "」』）】》〉"
QUESTION_MARKS = ("?", "？", "؟")
EMOJI = r"[\U0001F000-\U0001FAFF\u2600-\u27BF\u2B05-\u2B55\u203C\u2049\u200D\uFE0F]"
MARK = re.compile(
    rf"(?P<mark>[.!?…{WIDE_MARKS}]+)(?P<closing>[\"'”’)\]*_~{WIDE_CLOSERS}]*)(?:\s*(?:{EMOJI}|[:;]-?[)D(P](?!\w)))*|(?P<emoji>{EMOJI}+)"
)
"""A possible end: marks with what belongs to them, or emoji alone."""
ADDRESS = re.compile(
    rf"(?:https?://|www\.)[^\s<>\"{WIDE_MARKS}]*[^\s<>\"'.,;:!?)\]…{WIDE_MARKS}]|(?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,64}}(?:\.[\w-]{{1,64}})+"
)
BULLET = re.compile(r"\s*(?:[-*•–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])(?=\s)")
LINE_ENDS = re.compile(rf"[.!?…:;{WIDE_MARKS}][\"'”’)\]{WIDE_CLOSERS}]*\s*$")
WORD_BEFORE = re.compile(r"[\w.&'’-]*$")
NEXT_WORD = re.compile(r"\s*([^\W\d_]+)")
SENTENCE_START = re.compile(r"[A-Z](?:[a-z]|['’ ])")
"""The start of a sentence right after the mark of another."""
DOTTED = re.compile(r"[A-Za-z](?:\.[A-Za-z])*")
CLOSERS = frozenset("\"'”’)]") | frozenset(WIDE_CLOSERS)
"""After these a word in lower case goes on with the sentence around them; after a wide mark, any letter at once."""
NEVER_LAST = frozenset("dr mr mrs ms mx prof vs cf eg e.g ie i.e approx ca dept vol fig".split())
TITLES = frozenset("St Mt Ft Rev Sgt Capt Lt Col Gen Gov Sen Rep Pres".split())
"""Titles that never end a sentence, in this case."""
MAYBE_LAST = frozenset("a.m p.m etc inc ltd co corp jr sr u.s u.k u.s.a d.c ph.d m.d ave blvd rd al".split())
"""Abbreviations that end a sentence only before a word that often opens one."""
DAY_NUMBER = re.compile(r"\d{1,2}")
"""A number that may be an ordinal ("am 22. Februar", "the 3. of May"); likewise."""
OPENERS = frozenset(
    "i im ive ill we he she it its they you my our his her their your the this that these those then there here but "
    "and so or also after before when while what who how why where if in on at do did does is are was were no not yes "
    "yeah thanks please hope have has just maybe now today let lets a an as for with since can could would will".split()
)
BREAKS = (
    re.compile(r";\s"),
    re.compile(r",\s+(?=(?:and|but|so|or|then|because|which|while|although|though)\s)"),
    re.compile(r",\s"),
    re.compile(r"\s(?=(?:and|but|so|because|then)\s)"),
    re.compile(r"\s"),
)
"""Where a run-on is split, the best break first."""


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences, in order, without white space around them; none is empty."""
    sentences = _parts(text, 0)
    return sentences if len(sentences) <= MOST_SENTENCES else _parts(text, len(text) // MOST_SENTENCES)


def pieces_of(line: str, most: int) -> Iterator[str]:
    """Yield a line; one longer than `most` characters in its sentences, and these cut wherever they are full."""
    if len(line) <= most:
        yield line
        return
    for sentence in split_sentences(line):
        yield from (sentence[start : start + most] for start in range(0, len(sentence), most))


def question_at_end(text: str) -> str:
    """Return the question that a text ends with; empty for none."""
    sentences = split_sentences(text) if any(mark in text for mark in QUESTION_MARKS) else []
    return sentences[-1] if sentences and ends_asking(sentences[-1]) else ""


def ends_asking(text: str) -> bool:
    """Return whether a text ends with a question mark of any script."""
    return text.rstrip().endswith(QUESTION_MARKS)


def _parts(text: str, least: int) -> list[str]:
    """Return the sentences of a text; a line, and a sentence, of fewer characters than `least` goes on in the next."""
    parts = (part for line in _lines(text, least) for said in _sentences(line, least) for part in _shorten(said))
    return [part for part in parts if part]


def _lines(text: str, least: int) -> Iterator[str]:
    wrapped: list[str] = []
    size = 0
    for line in text.splitlines():
        before = wrapped[-1] if wrapped else ""
        goes_on = len(before) >= WRAPPED and line.lstrip()[:1].islower() and not LINE_ENDS.search(before[-REACH:])
        if wrapped and not goes_on and size >= least:
            yield " ".join(wrapped)
            wrapped, size = [], 0
        wrapped.append(line)
        size += len(line)
    yield " ".join(wrapped)


def _sentences(line: str, least: int) -> Iterator[str]:
    masked = ADDRESS.sub(lambda match: "x" * len(match.group()), line)
    bullet = BULLET.match(line)
    start = 0
    for match in MARK.finditer(masked, bullet.end() if bullet else 0):
        if match.end() - start >= least and _ends_here(masked, start, match):
            yield line[start : match.end()].strip()
            start = match.end()
    yield line[start:].strip()


def _ends_here(line: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a match ends the sentence that began at `start`."""
    following = line[match.end() : match.end() + 1]
    if not match.group("emoji") and match.group("mark")[-1] in WIDE_MARKS:
        return not (CLOSERS & set(match.group("closing")) and following.isalpha())
    if not following.isspace():
        return _meets_next(line, match)
    opener = NEXT_WORD.match(line, match.end())
    if match.group("emoji"):
        return opener is not None and opener.group(1)[0].isupper() and " " in line[start : match.start()].strip()
    if CLOSERS & set(match.group("closing")) and opener and opener.group(1)[0].islower():
        return False
    mark = match.group("mark")
    if mark == ".":
        return _is_full_stop(line, match, opener.group(1) if opener else "")
    return "!" in mark or "?" in mark or opener is None or opener.group(1)[0].isupper()


def _meets_next(line: str, match: re.Match[str]) -> bool:
    """Return whether a sentence starts right after the mark, without a space."""
    if match.group("emoji") or not SENTENCE_START.match(line, match.end()):
        return False
    if match.group("mark") != ".":
        return True
    word = _word_before(line, match)
    return len(word) > 1 and "." not in word and word[-1].islower()


def _is_full_stop(line: str, match: re.Match[str], opener: str) -> bool:
    word = _word_before(line, match)
    plain = word.casefold()
    if plain in NEVER_LAST or word in TITLES:
        return False
    if plain in MAYBE_LAST or DAY_NUMBER.fullmatch(word):
        return opener[:1].isupper() and opener.casefold() in OPENERS
    if plain == "no":
        return opener != ""
    return word == "I" or not (word[:1].isupper() and DOTTED.fullmatch(word))


def _word_before(line: str, match: re.Match[str]) -> str:
    found = WORD_BEFORE.search(line, max(0, match.start() - REACH), match.start())
    return found.group() if found else ""


def _shorten(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > MOST_CHARACTERS:
        end = _break_after(sentence, start)
        yield sentence[start:end].strip()
        start = end
    yield sentence[start:].strip()


def _break_after(sentence: str, start: int) -> int:
    """Return the index of the last break of the best kind within reach, else of the next space, else of the bound."""
    for pattern in BREAKS:
        if breaks := [match.end() for match in pattern.finditer(sentence, start + MIN_PART, start + MOST_CHARACTERS)]:
            return breaks[-1]
    bound = start + MOST_WITHOUT_SPACE
    space = BREAKS[-1].search(sentence, start + MOST_CHARACTERS, bound)
    return space.end() if space else bound
