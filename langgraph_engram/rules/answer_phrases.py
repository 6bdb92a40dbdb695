"""Cut from a sentence the shortest phrase that answers: the clause that says what is new, without what was asked.

English, by word order alone: an answer mostly follows the words that the question repeats. This module does not know
which sentence is right.
"""

import re
from collections.abc import Set
from itertools import pairwise

from langgraph_engram.rules.retell import without_lead_in
from langgraph_engram.text.statements import PRONOUN
from langgraph_engram.text.tokens import STOP_WORDS, content_stems

CLAUSES = re.compile(
    rf"\s+[–—-]+\s*|\s*[–—]\s*|-\s+|;\s+|\.\.+\s*|…\s*|\s*\(|\)\s*|!\s+|"
    r"(?<!\bSt)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMt)(?<!\bMrs)\.\s+|"
    rf",?\s+(?:but|although|though|while|whereas|unless)\s+|,\s+(?=(?:so|which|who|where|when|because|cause|since)\b)|"
    rf",?\s+(?:and|so|cause|'cause|cuz|because)\s+(?={PRONOUN}\b)|,\s+(?={PRONOUN}(?:['’]\w+)?\s)",
    re.IGNORECASE,
)
"""Where one clause ends and the next begins."""
TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
HELPING = (
    r"have|has|had|am|is|are|was|were|been|be|being|do|does|did|will|would|can|could|might|may|should|gonna|wanna|"
    r"going\s+to|want(?:ed)?\s+to|hop(?:e|ing)\s+to|plan(?:ning)?\s+(?:to|on)|trying\s+to|got\s+to|used\s+to|like\s+to|"
    r"love\s+to"
)
SOFTENING = (
    r"just|really|also|still|always|never|actually|definitely|currently|recently|finally|totally|mostly|usually|often|"
    r"even|already|super|so|very|quite|pretty|both|all|only|now|kind\s+of|a\s+lot\s+of|lots\s+of|some|such"
)
OPENING = re.compile(
    rf"^(?:(?:{PRONOUN}|my\s+\w+|who|which|what|where|when|how|as|if|to)\b(?:['’](?:m|re|s|ve|d|ll))?\s+)?"
    rf"(?:(?:{HELPING}|{SOFTENING})\s+)*",
    re.IGNORECASE,
)
"""Who does it, and what stands before the verb."""
OPENS_WITH_PRONOUN = re.compile(rf"{PRONOUN}\b(?!['’])", re.IGNORECASE)
LINKS = frozenset(
    (
        "i we he she they there me us them it you when where while up off out away of by with about to from in on at "
        "for as like and or that which who is are was were be been so now currently s re m"
    ).split()
)
"""Words that no answer begins with."""
ARTICLES = frozenset("a an the my our his her their this that these those some".split())
NO_ATTRIBUTE = STOP_WORDS | frozenset(
    (
        "like love enjoy got get getting have having made make making did went go going saw see took take new own "
        "favorite favourite really just also great awesome nice cool amazing good lot lots bunch many much more other "
        "another one two three couple few several every each such kind sort type"
    ).split()
)
"""Words before a noun that do not tell which one it is."""
NO_ATTRIBUTE_ENDS = re.compile(r"(?:ed|ly)$")
WEAK = frozenset(
    content_stems(
        "especially usually often lot lots bit way ago kind sort really actually always never ever still even much "
        "many more most such own use used time thing things stuff last next week month year today yesterday tomorrow "
        "recently lately just now then again already soon finally definitely totally super pretty quite check look "
        "go get make take have do come be like love great good nice awesome amazing cool fun happy hope want know "
        "think here pic photo image thanks thank yeah wow hey something anything everything one ones other another "
        "else able though honestly anyway remember"
    )
)
"""Stems that answer nothing by themselves."""
LONGEST = 12
"""Words of an answer, unless it is a list."""
WEEKDAY = r"(?:mon|tues?|wed|thurs?|fri|sat|sun)\w*"
CUTS = re.compile(
    r",?\s+(?:(?:which|who|because|cause|'cause|so that|so|when|while|after|before|since|if|as|where|for when)\s+\w+|"
    rf"(?:last|this|next|every)\s+(?:week|weekend|month|year|night|day|summer|winter|spring|fall|{WEEKDAY})|"
    r"yesterday|today|tomorrow|recently|lately)\b.*$",
    re.IGNORECASE,
)
"""What tells when or why at the end of an answer."""
RELATIVE_CLAUSE = re.compile(r"^(?P<head>.+?)\s+(?:that|which|who|whom)\s+(?P<rest>.+)$", re.IGNORECASE)


def phrase(sentence: str, asked: Set[str], noun: str = "", deed: bool = False) -> str:
    """Give the shortest phrase of a sentence that says something that was not asked.

    Args:
        sentence: What was said.
        asked: Stems of the question, names included.
        noun: The noun asked for, as in "what kind of art"; empty where none is.
        deed: Whether the answer is something done, so that its verb belongs to it.

    Returns:
        A part of the sentence; the sentence without its lead-in where no part stands out.
    """
    bare = without_lead_in(sentence)
    clauses = [part.strip(" ,") for part in CLAUSES.split(bare) if part.strip(" ,")]
    clause = without_lead_in(max(clauses, key=lambda part: _worth(part, asked), default=bare))
    if deed:
        return shortened(_predicate(clause)) or clause
    return without_echo(described(clause, asked, noun) or shortened(_unasked(clause, asked)) or clause, asked)


def without_echo(told: str, asked: Set[str]) -> str:
    """Leave out a relative clause that says again what was asked: "hazelnuts that I'm allergic to" is hazelnuts."""
    match = RELATIVE_CLAUSE.search(told)
    if match and says_new(match.group("head"), asked) and not says_new(match.group("rest"), asked):
        return match.group("head")
    return told


def described(clause: str, asked: Set[str], noun: str) -> str:
    """Give the noun that is asked for with the words that tell which one it is: "abstract art"; empty for none."""
    wanted = set(content_stems(noun))
    tokens = list(TOKEN.finditer(clause))
    for place, token in enumerate(tokens):
        if wanted.isdisjoint(content_stems(token.group())):
            continue
        first = place
        while first and _describes(clause, tokens[first - 1], tokens[first], asked):
            first -= 1
        told = clause[tokens[first].start() : token.end()]
        if set(content_stems(told)) - asked:
            return told
    return ""


def shortened(text: str) -> str:
    """Take off what tells when or why at the end, and what exceeds the longest answer."""
    cut = CUTS.sub("", text)
    text = cut if content_stems(cut) else text
    words = text.split()
    kept = words if text.count(",") > 1 else words[:LONGEST]
    while len(kept) > 1 and _plain(kept[-1]) in STOP_WORDS:
        kept = kept[:-1]
    return " ".join(kept)


def _worth(part: str, asked: Set[str]) -> tuple[bool, int, int]:
    stems = set(content_stems(part))
    new = stems - asked - WEAK
    return bool(new), len(stems & asked), min(len(new), 3)


def _describes(clause: str, one: re.Match[str], following: re.Match[str], asked: Set[str]) -> bool:
    """Say whether a word stands right before another and may describe it: no verb, adverb or word that was asked."""
    word = one.group().casefold()
    joined = not clause[one.end() : following.start()].strip(" +&/")
    return joined and not NO_ATTRIBUTE_ENDS.search(word) and word not in NO_ATTRIBUTE and _is_new(word, asked)


def _is_new(word: str, asked: Set[str]) -> bool:
    return asked.isdisjoint(content_stems(word))


def _predicate(clause: str) -> str:
    """Drop the one who does it and the helping verbs."""
    rest = OPENING.sub("", clause, count=1)
    return rest if rest.strip() else clause


def _unasked(clause: str, asked: Set[str]) -> str:
    """Give what follows the last word that was asked, else what stands between two or before the first."""
    known = [one for one in TOKEN.finditer(clause) if not asked.isdisjoint(content_stems(one.group()))]
    if not known:
        return _complement(clause)
    after = clause[known[-1].end() :]
    if says_new(after, asked):
        return _without_links(after)
    gaps = [clause[one.end() : _through(clause, following, asked)] for one, following in pairwise(known)]
    between = max(gaps, key=lambda gap: len(content_stems(gap)), default="")
    if says_new(between, asked):
        return _without_links(between)
    before = clause[: _through(clause, known[0], asked)]
    ends_open = bool(before.split()) and _plain(before.split()[-1]) in STOP_WORDS
    return _predicate(before if says_new(before, asked) and not ends_open else clause)


def _through(clause: str, word: re.Match[str], asked: Set[str]) -> int:
    """Give where a phrase before an asked word ends: after it and those that follow on, where it leads up to them."""
    before = clause[: word.start()].split()
    end = word.start()
    if not before or not before[-1][-1].isalnum() or _plain(before[-1]) in STOP_WORDS - ARTICLES:
        return end
    for token in TOKEN.finditer(clause, word.start()):
        if clause[end : token.start()].strip() or _is_new(token.group(), asked):
            break
        end = token.end()
    return end


def says_new(text: str, asked: Set[str]) -> bool:
    """Say whether a text holds a word that was not asked and answers something by itself."""
    return bool(set(content_stems(text)) - asked - WEAK)


def _complement(clause: str) -> str:
    """Drop subject, helping verbs and the verb after a pronoun, where something is left that says anything."""
    rest = _predicate(clause)
    verb = TOKEN.match(rest) if OPENS_WITH_PRONOUN.match(clause) else None
    tail = rest[verb.end() :] if verb else ""
    return _without_links(tail) if content_stems(tail) else rest


def _without_links(text: str) -> str:
    words = text.strip(" ,:;'’-–—/").split()
    while len(words) > 1 and _plain(words[0]) in LINKS:
        words = words[1:]
    return " ".join(words)


def _plain(word: str) -> str:
    return re.sub(r"\W", "", word).casefold()
