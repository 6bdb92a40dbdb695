"""Find the words that carry a text's meaning, proper names first, and name topics by them, without a model.

A name is a run of capitalised words, an acronym or a quoted title. A capital at the start of a sentence counts only
where another capitalised word follows.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from langgraph_engram.text.words import MONTHS_AND_DAYS, NUMBER_WORDS, STOP_WORDS, stem, words

CAPITALISED = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\.\s+(?=[A-Z]))?[A-Z][\w&'’-]*"
"""A word with a capital; the point of a title before it ends no sentence."""
RUN = re.compile(rf"(?<![\w]){CAPITALISED}(?:\s+(?:(?:of|the|and|de|la|van|von|for)\s+)?{CAPITALISED})*")
QUOTED = re.compile(r"[\"“]([^\"“”]{2,60})[\"”]")
SENTENCE_STARTS = (*'.!?:;…"“([—', "--")
"""What a sentence may start after, white space between them; so does each line."""
NO_NAMES = (
    "absolutely actually after ah aw awesome aww before bye cant congrats congratulations cool definitely dont even "
    "first glad good got great haha hello hey hi hmm id ill im ive keep last let like lol make maybe next nice nope "
    "now oh ok okay omg one please really see since sorry sounds still sure take thank thanks then totally well wow "
    "yeah yep yes"
)
NOT_NAMES = STOP_WORDS | MONTHS_AND_DAYS | frozenset(NO_NAMES.split())
MAX_KEYWORDS = 6
TOPIC_KEYWORDS = 3
TITLE_KEYWORDS = 4
NO_TOPIC = "small talk"
MIN_LETTERS = 4
MIN_NICKNAME = 2
"""Letters from which the beginning of a name counts as the name."""
NAME_FACTOR = 1.5
CACHED_TEXTS = 10_000
"""Texts whose content words are cached: each message is compared with all that was said in its session."""
SMALL_TALK = frozenset(
    (
        "absolutely again agree agreed agreeing ah always amazing anything anytime appreciate appreciated ask aw "
        "awesome aww back best bet bye care catch chat chatted cheers congrats congratulations cool cute day "
        "definitely doing done else enjoy evening ever everything exactly excited exciting fantastic feel forward "
        "free fun get glad go going gonna good goodbye gorgeous got grateful great guess hah haha happened happening "
        "happy hear hello help hey hi hiya honestly hope hopeful hopefully hoping impressive incredible indeed "
        "inspiring keep kind know last later let like lol long look looks lot lots love lovely luck lucky mean means "
        "morning much need never new nice nicely night nope oh ok okay omg ooh perfect please pretty problem proud "
        "reach really right say see since something soon sorry sound sounds still super sure sweet take talk talked "
        "tell thank thankful thanks thing things think thx time today totally tough true way welcome well wish "
        "wishing wonderful words worries wow yeah yep yes yet yourself yup"
    ).split()
)
"""Greetings, thanks, praise, cheers, offers of help: nothing to remember by themselves."""
EMPTY_WORDS = SMALL_TALK | STOP_WORDS | frozenset("could im may might must shall should would".split())
VAGUE_WORDS = frozenset(
    (
        "able above against ahead alive almost alone along already although among another anybody anyone anyway apart "
        "around asked asking away barely became because become began begin behind below beside besides better between "
        "beyond both bring brought came cannot certainly come comes coming completely couldn course days decided didn "
        "different doesn down during each early easy either empty ended enough especially eventually everybody "
        "everyone everywhere except expensive fast feeling feels fell felt finally find finish finished follow forget "
        "forgot found front full gave getting give given gives giving goes gone half halfway happen hard hardly hasn "
        "haven head heard herself high himself hour hours however idea inside instead itself join kept knew known "
        "large late lately least leave leaving left less likely listen listening little live lived lives living "
        "longer looked looking made mainly makes making manage many matter meant meanwhile mind mine minute minutes "
        "moment month months more most mostly moved myself near nearly needed needs neither nobody none normally note "
        "noted nothing number often only onto other others otherwise ours ourselves outside part particular past "
        "perhaps place plan planned planning plans plenty possible probably promise promised properly putting quick "
        "quickly quite rather read ready reason recently recommend remember remind reminded reminder roughly said "
        "same saying says seem seemed seems seen sense share short shouldn show side simply slowly small smaller "
        "somebody someone sometimes somewhere sort spend spent start started starting starts stay stayed stop stopped "
        "such suppose supposed taken takes taking talking telling theirs themselves thinking third though thought "
        "through throughout tiny together told tomorrow tonight took toward towards tried tries trying turn turned "
        "under unless until upon used using usual usually various wait waiting walk want wanted wants wasn week "
        "weekend weeks went weren whatever whether while whole whose within without wonder worth wouldn wrong year "
        "years yesterday young yours"
    ).split()
)
"""Further words of four letters and more that name no subject by themselves."""
NO_SUBJECT = EMPTY_WORDS | NOT_NAMES | NUMBER_WORDS | VAGUE_WORDS


def proper_names(text: str) -> list[str]:
    """Return the names in `text`, in order, without repeats."""
    quoted = [match.group(1).strip() for match in QUOTED.finditer(text)]
    return list(dict.fromkeys([*quoted, *filter(None, (_name_in(text, match) for match in RUN.finditer(text)))]))


def is_small_talk(sentence: str, others: Collection[str] = ()) -> bool:
    """Return whether a sentence is all greetings, thanks and cheers, with the names of `others` or how these begin."""
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


def topic_words(
    texts: Sequence[str], frequencies: Counter[str], people: Collection[str], most: int = TITLE_KEYWORDS
) -> list[str]:
    """Return the words that best name what some texts are about, the best first; names of `people` are none.

    A word counts by the texts that hold it, times their share among all texts of the conversation that do
    (`frequencies`). Among equals come names, then longer words, then those that come first.
    """
    speakers = {word for name in people for word in words(name)}
    counts = document_frequencies(texts)
    forms: dict[str, str] = {}
    for key, form in chain.from_iterable(_content_words(text).items() for text in texts):
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
        if len(word) >= MIN_LETTERS and word not in NO_SUBJECT and word not in in_names and not word.isdigit():
            found.setdefault(stem(word), word)
    return found


def _starts_sentence(text: str, index: int) -> bool:
    """Return whether a sentence or a quotation may start at an index; only what stands right before it is read."""
    end = index
    while end and text[end - 1].isspace():
        end -= 1
    return end == 0 or "\n" in text[end:index] or text.endswith(SENTENCE_STARTS, max(0, end - 2), end)


def _name_in(text: str, match: re.Match[str]) -> str:
    words = match.group().split()
    kept = [position for position, word in enumerate(words) if re.sub(r"['’].*$", "", word).casefold() not in NOT_NAMES]
    if not kept or (len(words) == 1 and not words[0].isupper() and _starts_sentence(text, match.start())):
        return ""
    name = re.sub(r"['’]s$", "", " ".join(words[kept[0] : kept[-1] + 1]))
    return name if len(name) > 1 else ""
