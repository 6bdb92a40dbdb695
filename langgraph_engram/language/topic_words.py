"""Find the words that tell what several turns are about: names, and words that recur there and seldom elsewhere.

The list of words that tell nothing is English. This module does not know where a subject begins.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from langgraph_engram.language.keywords import EMPTY_WORDS, LEAST_LETTERS
from langgraph_engram.language.names import NOT_NAMES, proper_names
from langgraph_engram.language.numbers import OTHERS, SCALES, SMALL, TENS
from langgraph_engram.language.tokens import stem, words

NAME_FACTOR = 1.5
"""What a name counts against another word."""
VAGUE_WORDS = (
    EMPTY_WORDS
    | NOT_NAMES
    | frozenset([*SMALL, *TENS, *SCALES, *OTHERS])
    | frozenset(
        (
            "able about above actually again against ago ahead alive almost alone along already also although always "
            "among another anybody anyone anyway apart around asked asking away barely became because become before "
            "began begin behind being below beside besides better between beyond both bring brought came "
            "cannot certainly come comes coming completely could couldn couple course days decided didn different does "
            "doesn down during each early easy either else empty end ended enough especially even evening eventually "
            "everybody everyone everywhere exactly except excited expensive far fast feel feeling feels fell felt few "
            "finally find finish finished follow forget forgot found front full gave getting give given gives giving "
            "goes gone half halfway happen hard hardly hasn haven head heard help here herself high himself hour "
            "hours however idea instead inside itself join keep kept kind knew known large lately late later least "
            "leave leaving left less likely listen listening little live lived lives living long longer looked looking "
            "made mainly make makes making manage many matter maybe meant meanwhile mind mine minute minutes moment "
            "month months more most mostly moved much must myself near nearly need needed needs neither nobody none "
            "normally note noted nothing number often once only onto other others otherwise ours ourselves outside "
            "over own part particular past perhaps place plan planned planning plans plenty possible probably promise "
            "promised properly put putting quick quickly quite rather reach read ready reason recently recommend "
            "remember remind reminded reminder right roughly said same saying says seem seemed seems seen sense "
            "share short shouldn show side simply slowly small smaller some somebody someone something sometimes "
            "somewhere soon sort spend spent start started starting starts stay stayed still stop stopped such "
            "suppose supposed taken takes taking talking telling than their theirs them themselves these think "
            "thinking third those though thought through throughout tiny together told tomorrow tonight took toward "
            "towards tried tries try trying turn turned twice under unless until upon used using usual usually various "
            "wait waiting walk want wanted wants wasn week weekend weeks went were weren what whatever whether "
            "which while whole whom whose within without wonder worth would wouldn wrong year years yesterday "
            "young yours yourself"
        ).split()
    )
)
"""Words that name no subject by themselves."""


def spread_of(texts: Iterable[str]) -> Counter[str]:
    """Count in how many texts each telling word stands, by stem; names by all of their letters."""
    return Counter(key for text in texts for key in _telling(text))


def topic_words(texts: Sequence[str], spread: Counter[str], people: Collection[str], most: int) -> list[str]:
    """Give the words that best name what some texts are about.

    A word counts by the texts that hold it, times their share among all texts that do.

    Args:
        texts: What was said of one subject.
        spread: In how many texts of the whole conversation each word stands; see `spread_of`.
        people: Who speaks; their names tell nothing.
        most: Words to give.

    Returns:
        The words, the most telling first; among equals names, then longer words, then those that come first.
    """
    speaking = {word for name in people for word in words(name)}
    held: Counter[str] = Counter()
    forms: dict[str, str] = {}
    for text in texts:
        for key, form in _telling(text).items():
            held[key] += 1
            forms.setdefault(key, form)
    told = [key for key in forms if not speaking.issuperset(words(forms[key]))]

    def rank(key: str) -> tuple[float, bool, int]:
        name = forms[key][:1].isupper()
        share = held[key] / max(held[key], spread[key])
        return -held[key] * share * (NAME_FACTOR if name else 1), not name, -len(forms[key])

    return [forms[key] for key in sorted(told, key=rank)[:most]]


def _telling(text: str) -> dict[str, str]:
    """Give the telling words of a text by what makes them the same word, as they stand there first."""
    names = proper_names(text)
    of_names = {word for name in names for word in words(name)}
    found = {name.casefold(): name for name in names}
    for word in words(text):
        if len(word) > LEAST_LETTERS and word not in VAGUE_WORDS and word not in of_names and not word.isdigit():
            found.setdefault(stem(word), word)
    return found
