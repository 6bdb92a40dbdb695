"""Split text into words, and words into content stems by Porter's algorithm: what lexical search and coverage count."""

import re
from functools import lru_cache

import snowballstemmer

VERBS = """
arise arose arisen; bear bore borne born; beat beaten; become became; begin began begun; bend bent; bet; bind bound;
bite bit bitten; bleed bled; blow blew blown; break broke broken; bring brought; build built; burn burnt; buy bought;
catch caught; choose chose chosen; come came; creep crept; deal dealt; dig dug; dive dove; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone; grow grew grown;
hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led; learn learnt;
leave left; lend lent; lie lay lain; light lit; lose lost; make made; mean meant; meet met; pay paid;
ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent;
sew sewn; shake shook shaken; shine shone; shoot shot; show shown; sing sang sung; sink sank sunk; sit sat;
sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen; stick stuck;
strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught;
tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
wear wore worn; weep wept; win won; wind wound; write wrote written
"""
"""Forms of verbs, the base first."""
OTHER_FORMS = """
child children; man men; woman women; person people; foot feet; tooth teeth; mouse mice; goose geese; life lives;
wife wives; knife knives; leaf leaves; shelf shelves; wolf wolves; mom mum mommy mother; dad daddy father;
bike bicycle; photo photograph picture pic; fridge refrigerator; tv television; movie film; kid child
"""
"""Forms of other words, the base first."""
AMBIGUOUS = frozenset(
    "lay saw left found wound felt bore ground rose shot born light lit leaves spoke bit fell".split()
)
"""Forms that are as often another word; they stay as they are."""


def _by_form(forms: str) -> dict[str, str]:
    groups = map(str.split, forms.split(";"))
    return {form: base for base, *others in groups for form in others if form not in AMBIGUOUS}


BASE = _by_form(VERBS) | _by_form(OTHER_FORMS)
"""The base of each form."""
PAST_FORMS = frozenset(_by_form(VERBS))
"""Irregular past forms of verbs."""

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
CACHE_SIZE = 8_192
"""Texts whose stems are cached: the same one is stemmed when it is verified, compared, indexed and ranked."""
LONGEST_CACHED = 2_000
"""Characters of the longest such text."""
STEMMER = snowballstemmer.stemmer("porter")


def words(text: str) -> list[str]:
    """Return the words of `text`, runs of Unicode letters and digits, case-folded, in order."""
    return WORD.findall(text.casefold())


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the Porter stem of a case-folded word."""
    return str(STEMMER.stemWord(word))


def content_stems(text: str) -> list[str]:
    """Return the stems of the words of `text` that are not in the stop list, in order, with repeats.

    Irregular forms are led back to their base first: "bought" and "buys" give the same stem.
    """
    return list(_cached_stems(text) if len(text) <= LONGEST_CACHED else _stems(text))


def _stems(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(_content_stem, words(text))))


@lru_cache(maxsize=100_000)
def _content_stem(word: str) -> str:
    """Return the stem of a word's base; nothing for a stop word."""
    return "" if word in STOP_WORDS else stem(BASE.get(word, word))


_cached_stems = lru_cache(maxsize=CACHE_SIZE)(_stems)
