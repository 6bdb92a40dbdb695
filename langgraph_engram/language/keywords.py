"""Read the words that carry a text's meaning, and a topic made of them, without a model."""

from langgraph_engram.language.names import proper_names
from langgraph_engram.language.tokens import words

MAX_KEYWORDS = 6
TOPIC_WORDS = 3
"""Keywords that name a topic."""
LEAST_LETTERS = 3
"""Letters above which a word may be a keyword."""
NO_TOPIC = "small talk"
SMALL_TALK = frozenset(
    (
        ") absolutely again ah always amazing anything aw awesome aww back been best bet bye care catch chat "
        "chatted congrats congratulations cool day definitely do doing done evening ever everything exactly "
        "fantastic forward get glad go going gonna good goodbye got great guess hah haha happened happening happy "
        "hear hello hey hi hiya hopefully how indeed keep know last later let like lol long look looks lot lots "
        "love lovely luck mean morning much never new nice night nope oh ok okay omg ooh please really right say "
        "see since something soon sorry sound sounds still super sure sweet take talk talked tell thank thanks "
        "thing things think thx time today totally true us way welcome well wonderful wow yeah yep yes yet yup"
    ).split()
)
"""Words that, by themselves, leave nothing to remember."""
FUNCTION_WORDS = frozenset(
    (
        "a an the and or but if of at by for with about to from in on is are was were be being am does did has "
        "have had having i you he she it we they me him her them my your his its our their this that these those "
        "what which who whom when where why so than too very can will just not no s t d ll m o re ve as there here "
        "up out over some any all also would could should might may must shall im"
    ).split()
)


EMPTY_WORDS = SMALL_TALK | FUNCTION_WORDS


def keywords_of(text: str, most: int = MAX_KEYWORDS) -> list[str]:
    """Give the names of a text, then its longest content words, at most `most`, without repeats."""
    names = proper_names(text)
    in_names = {word for name in names for word in words(name)}
    rest = [
        word
        for word in dict.fromkeys(words(text))
        if word not in EMPTY_WORDS and word not in in_names and len(word) > LEAST_LETTERS
    ]
    return [*names, *sorted(rest, key=lambda word: (-len(word), word))][:most]


def topic_of(keywords: list[str], topic_before: str = "") -> str:
    """Name a topic by the first few keywords; without any, the topic before goes on."""
    return ", ".join(keywords[:TOPIC_WORDS]) or topic_before or NO_TOPIC
