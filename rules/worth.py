"""Tell small talk from what is worth keeping, by its words alone."""

from langgraph_engram.language.tokens import words

SMALL_TALK = frozenset(
    (
        "hi hey hello hiya bye goodbye thanks thank thx welcome wow ooh oh ah aw aww haha hah lol omg yes yeah yep "
        "yup nope sure ok okay cool nice great awesome amazing fantastic wonderful lovely sweet super absolutely "
        "definitely totally exactly indeed right true congrats congratulations good glad happy sorry hear see say "
        "tell know get got go going doing do done how been talk chat catch later soon well really much lot lots "
        "again back let us thing things sounds sound look looks forward keep take care luck best always never ever "
        "yet still please hope hopefully guess think mean love like way take day today night morning evening time "
        "bet agree appreciate support"
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


def is_small_talk(sentence: str) -> bool:
    """Say whether a sentence holds nothing but greetings, thanks and cheers."""
    said = words(sentence)
    if any(word.isdigit() for word in said):
        return False
    return all(word in SMALL_TALK or word in FUNCTION_WORDS for word in said)
