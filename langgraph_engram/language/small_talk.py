"""Tell small talk from what is worth keeping, by its words alone."""

from collections.abc import Collection

from langgraph_engram.language.tokens import words

LEAST_NICKNAME = 2
"""Letters from which the beginning of a name counts as the name."""
SMALL_TALK = frozenset(
    (
        "absolutely again agree agreed agreeing ah always amazing anything appreciate appreciated aw awesome aww "
        "back been best bet bye care catch chat chatted cheers congrats congratulations cool cute day definitely do "
        "doing done evening ever everything exactly excited exciting fantastic forward fun get glad go going gonna "
        "good goodbye gorgeous got grateful great guess hah haha happened happening happy hear hello hey hi hiya "
        "honestly hope hopeful hopefully hoping how impressive incredible indeed inspiring keep kind know last later "
        "let like lol long look looks lot lots love lovely luck lucky mean means morning much never new nice nicely "
        "night nope oh ok okay omg ooh perfect please pretty proud really right say see since something soon sorry "
        "sound sounds still super sure sweet take talk talked tell thank thankful thanks thing things think thx time "
        "today totally tough true us way welcome well wish wishing wonderful words wow yeah yep yes yet yup"
    ).split()
)
"""Words that, by themselves, leave nothing to remember: greetings, thanks, praise, agreement, cheers."""
FUNCTION_WORDS = frozenset(
    (
        "a an the and or but if of at by for with about to from in on is are was were be being am does did has "
        "have had having i you he she it we they me him her them my your his its our their this that these those "
        "what which who whom when where why so than too very can will just not no s t d ll m o re ve as there here "
        "up out over some any all also would could should might may must shall im"
    ).split()
)


def is_small_talk(sentence: str, people: Collection[str] = ()) -> bool:
    """Say whether a sentence holds nothing but greetings, thanks and cheers.

    Args:
        sentence: What was said.
        people: Who takes part; their names, or how these begin, add nothing to a greeting.
    """
    said = words(sentence)
    names = [word for name in people for word in words(name)]
    return not any(word.isdigit() for word in said) and all(
        word in SMALL_TALK or word in FUNCTION_WORDS or _calls(word, names) for word in said
    )


def _calls(word: str, names: Collection[str]) -> bool:
    return len(word) >= LEAST_NICKNAME and any(name.startswith(word) for name in names)
