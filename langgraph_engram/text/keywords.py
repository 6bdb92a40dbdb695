"""Find the words that carry a text's meaning, and name topics by them, without a model."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from langgraph_engram.text.names import NOT_NAMES, proper_names
from langgraph_engram.text.numbers import NUMBER_WORDS
from langgraph_engram.text.tokens import stem, words

MAX_KEYWORDS = 6
TOPIC_KEYWORDS = 3
"""Keywords that name the topic of one turn."""
NO_TOPIC = "small talk"
MIN_LETTERS = 4
"""Letters of the shortest keyword."""
MIN_NICKNAME = 2
"""Letters from which the beginning of a name counts as the name."""
NAME_FACTOR = 1.5
"""Factor of a name among topic words."""
CACHED_TEXTS = 10_000
"""Texts whose content words are cached: each message is compared with all that was said in its session."""
SMALL_TALK = frozenset(
    (
        "absolutely again agree agreed agreeing ah always amazing anything anytime appreciate appreciated ask aw "
        "awesome aww back been best bet bye care catch chat chatted cheers congrats congratulations cool cute day "
        "definitely do doing done else enjoy evening ever everything exactly excited exciting fantastic feel "
        "forward free fun get glad go going gonna good goodbye gorgeous got grateful great guess hah haha happened "
        "happening happy hear hello help hey hi hiya honestly hope hopeful hopefully hoping how impressive "
        "incredible indeed inspiring keep kind know last later let like lol long look looks lot lots love lovely "
        "luck lucky mean means morning much need never new nice nicely night nope oh ok okay omg ooh perfect please "
        "pretty problem proud reach really right say see since something soon sorry sound sounds still super sure "
        "sweet take talk talked tell thank thankful thanks thing things think thx time today totally tough true us "
        "way welcome well wish wishing wonderful words worries wow yeah yep yes yet yourself yup"
    ).split()
)
"""Words that, by themselves, leave nothing to remember: greetings, thanks, praise, cheers, offers of help."""
FUNCTION_WORDS = frozenset(
    (
        "a an the and or but if of at by for with about to from in on is are was were be being am does did has "
        "have had having i you he she it we they me him her them my your his its our their this that these those "
        "what which who whom when where why so than too very can will just not no s t d ll m o re ve as there here "
        "up out over some any all also would could should might may must shall im"
    ).split()
)
EMPTY_WORDS = SMALL_TALK | FUNCTION_WORDS
VAGUE_WORDS = (
    EMPTY_WORDS
    | NOT_NAMES
    | NUMBER_WORDS
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


def is_small_talk(sentence: str, others: Collection[str] = ()) -> bool:
    """Return whether a sentence holds nothing but greetings, thanks and cheers.

    Args:
        sentence: What was said.
        others: Who else takes part; their names, or how these begin, add nothing to a greeting. The speaker's own does.
    """
    names = [word for name in others for word in words(name)]

    def is_empty(word: str) -> bool:
        is_nickname = len(word) >= MIN_NICKNAME and any(name.startswith(word) for name in names)
        return word in EMPTY_WORDS or (is_nickname and not word.isdigit())

    return all(is_empty(word) for word in words(sentence))


def keywords_of(text: str, most: int = MAX_KEYWORDS) -> list[str]:
    """Return the names of a text, then its longest content words, at most `most`, without repeats."""
    names = proper_names(text)
    in_names = {word for name in names for word in words(name)}
    others = {
        word for word in words(text) if word not in EMPTY_WORDS and word not in in_names and len(word) >= MIN_LETTERS
    }
    return [*names, *sorted(others, key=lambda word: (-len(word), word))][:most]


def topic_of(keywords: list[str], topic_before: str = "") -> str:
    """Name a topic by the first few keywords; without any, the topic before goes on."""
    return ", ".join(keywords[:TOPIC_KEYWORDS]) or topic_before or NO_TOPIC


def document_frequencies(texts: Iterable[str]) -> Counter[str]:
    """Count in how many texts each content word occurs, by stem; names by all of their letters."""
    return Counter(key for text in texts for key in _content_words(text))


def topic_words(texts: Sequence[str], frequencies: Counter[str], people: Collection[str], most: int) -> list[str]:
    """Return the words that best name what some texts are about.

    A word counts by the texts that hold it, times their share among all texts that do.

    Args:
        texts: What was said of one subject.
        frequencies: In how many texts of the whole conversation each word occurs; see `document_frequencies`.
        people: Who speaks; their names describe no subject.
        most: Words to return.

    Returns:
        The words, the best first; among equals names, then longer words, then those that come first.
    """
    speakers = {word for name in people for word in words(name)}
    counts: Counter[str] = Counter()
    forms: dict[str, str] = {}
    for text in texts:
        for key, form in _content_words(text).items():
            counts[key] += 1
            forms.setdefault(key, form)

    def rank(key: str) -> tuple[float, bool, int]:
        is_name = forms[key][:1].isupper()
        share = counts[key] / max(counts[key], frequencies[key])
        return -counts[key] * share * (NAME_FACTOR if is_name else 1), not is_name, -len(forms[key])

    candidates = [key for key in forms if not speakers.issuperset(words(forms[key]))]
    return [forms[key] for key in sorted(candidates, key=rank)[:most]]


@lru_cache(maxsize=CACHED_TEXTS)
def _content_words(text: str) -> Mapping[str, str]:
    """Return the content words of a text by their key, a stem or a name, as they are first written there."""
    names = proper_names(text)
    in_names = {word for name in names for word in words(name)}
    found = {name.casefold(): name for name in names}
    for word in words(text):
        if len(word) >= MIN_LETTERS and word not in VAGUE_WORDS and word not in in_names and not word.isdigit():
            found.setdefault(stem(word), word)
    return found
