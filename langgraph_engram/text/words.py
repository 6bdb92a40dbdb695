"""Split text into words, content stems and numbers: what lexical search, coverage and checks of evidence count.

Stems are Porter's, of the base of an irregular form. Numbers are read by their value, in digits or spelled out.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from threading import local

import snowballstemmer

from langgraph_engram.temporal.patterns import SPELLED

VERBS = """
arise arose arisen; bear borne; beat beaten; become became; begin began begun; bend bent; bind bound; bite bitten;
blow blew blown; break broke broken; bring brought; build built; burn burnt; buy bought; catch caught;
choose chose chosen; come came; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk;
drive drove driven; eat ate eaten; fall fallen; feed fed; fight fought; fly flew flown; forbid forbade forbidden;
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone;
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led;
learn learnt; lend lent; lose lost; make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung;
rise risen; run ran; say said; see seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; show shown;
sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoken; spend spent; spin spun; stand stood;
steal stole stolen; stick stuck; strike struck; swear swore sworn; swim swam swum; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
wear wore worn; win won; write wrote written
"""
"""Forms of verbs, the base first, without those that are as often another word: "saw", "left", "found"."""
OTHER_FORMS = """
child children; man men; woman women; person people; foot feet; tooth teeth; mouse mice; goose geese; life lives;
wife wives; knife knives; shelf shelves; wolf wolves; mom mum mommy mother; dad daddy father; bike bicycle;
photo photograph picture pic; fridge refrigerator; tv television; movie film; kid child
"""


def _by_form(forms: str) -> dict[str, str]:
    return {form: base for base, *others in map(str.split, forms.split(";")) for form in others}


BASE = _by_form(VERBS) | _by_form(OTHER_FORMS)
PAST_FORMS = frozenset(_by_form(VERBS))

STOP_WORDS = frozenset(
    "a an the and or but if of at by for with about to from in on is are was were be been being am do does did has "
    "have had having i you he she it we they me him her us them my your his our its their this that these those what "
    "which who whom when where why how so than too very can will just not no s t d ll m o re ve as there here up "
    "out over some any all also".split()
)
MONTHS_AND_DAYS = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays".split()
)
WORD = re.compile(r"[^\W_]+")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
VALUES = {"zero": 0, **SPELLED}
SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
MULTIPLES = {"once": 1, "twice": 2, "couple": 2, "pair": 2, "dozen": 12}
NUMBER_WORDS = frozenset([*VALUES, *SCALES, *MULTIPLES])
LARGEST = 10**15
"""A larger number that words spell out is none."""
CACHE_SIZE = 8_192
"""Texts whose stems are cached: the same one is stemmed when it is verified, compared, indexed and ranked."""
LONGEST_CACHED = 2_000
"""Characters of the longest such text."""


class _Stemmer(local):
    """A stemmer a thread: one keeps the word that it is at, and stems of two at once would be neither's."""

    def __init__(self) -> None:
        self.porter = snowballstemmer.stemmer("porter")


STEMMER = _Stemmer()


def words(text: str) -> list[str]:
    """Return the words of `text`, runs of Unicode letters and digits, case-folded, in order."""
    return WORD.findall(text.casefold())


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the Porter stem of a case-folded word."""
    return str(STEMMER.porter.stemWord(word))


def content_stems(text: str) -> list[str]:
    """Return the content stems of `text`, in order, with repeats: "bought" and "buys" give one, a stop word none."""
    read = _stems if len(text) <= LONGEST_CACHED else _stems.__wrapped__
    return list(read(text))


@lru_cache(maxsize=CACHE_SIZE)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(BASE.get(word, word)) for word in words(text) if word not in STOP_WORDS)


def numbers_in(text: str) -> list[str]:
    """Return the numbers written in digits, normalised: no thousands separator, no empty decimals."""
    return [plain_number(number) for number in NUMBER.findall(text)]


def plain_number(number: str) -> str:
    """Normalise a number: "1,200.50" is "1200.5"; a date, a version or a code with leading zeros stays as it is."""
    plain = number.replace(",", "") if GROUPED.fullmatch(number) else number
    whole, point, rest = plain.partition(".")
    if not whole.isdigit() or (point and not rest.isdigit()):
        return plain
    decimals = rest.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def spelled_numbers(words: Sequence[str]) -> list[str]:
    """Return the numbers that case-folded words spell out, parts included: "twenty", "five" gives 20, 5 and 25."""
    found: list[int] = []
    whole, part = 0, 0
    for word in words:
        if word in VALUES:
            value = VALUES[word]
            after_tens = part % 100 >= 20 and part % 10 == 0
            goes_on = value > 0 and (part % 100 == 0 or (after_tens and value < 10))
            part = part + value if goes_on else value
            found.extend([value, part, whole + part])
        elif word in SCALES and part * SCALES[word] <= LARGEST:
            part = max(part, 1) * SCALES[word]
            found.append(whole + part)
            if word != "hundred":
                whole, part = whole + part, 0
        elif word in MULTIPLES:
            found.extend([MULTIPLES[word], MULTIPLES[word] * max(part, 1)])
            whole, part = 0, 0
        elif word not in ("and", "a"):
            whole, part = 0, 0
    return list(dict.fromkeys(str(value) for value in found))
