"""Read the words that carry a text's meaning, and a topic made of them, without a model."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from langgraph_engram.schema import Record
from langgraph_engram.text.names import NOT_NAMES, OTHERS, SCALES, SMALL, TENS, proper_names
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.tokens import content_stems, stem, words

LEAST_NICKNAME = 2
"""Letters from which the beginning of a name counts as the name."""
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


MAX_KEYWORDS = 6
TOPIC_WORDS = 3
"""Keywords that name the topic of one turn."""
LEAST_LETTERS = 3
"""Letters above which a word may be a keyword."""
NO_TOPIC = "small talk"


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


def name_day(moment: datetime | None) -> str:
    """Name a day with its weekday: "Mon 8 May 2023"; "undated" for none."""
    return f"{moment:%a} {moment.day} {moment:%B %Y}" if moment else "undated"


HISTORY_SHARE = 0.3
"""Share of the words given to earlier events."""


def extractive_narrative(buffer: Sequence[Record], history: Sequence[Record], most_words: int) -> str:
    """Give the sentences whose words recur most in the buffer, those of earlier events first.

    Questions tell nothing. Where there is nothing else, the first record stands for all, cut to length.

    Args:
        buffer: The new records, in order of time.
        history: Records of earlier events, in order of time.
        most_words: Words that it holds at most, headings included.
    """
    counts = Counter(stem for record in buffer for stem in set(content_stems(record.content)))
    earlier = _choose(history, counts, int(most_words * HISTORY_SHARE))
    new = _choose(buffer, counts, most_words - len(_told(earlier).split()))
    return _told([*earlier, *new]) or " ".join(_told(buffer[:1]).split()[:most_words])


def _told(records: Sequence[Record]) -> str:
    """Put sentences under a heading for each day."""
    lines: list[str] = []
    day = None
    for record in records:
        heading = f"{name_day(record.mentioned_at)}: " if name_day(record.mentioned_at) != day else ""
        day = name_day(record.mentioned_at)
        lines.append(f"{heading}{record.content}")
    return " ".join(lines)


def _choose(records: Sequence[Record], counts: Counter[str], room: int) -> list[Record]:
    """Give the most central records that fit, in their order. A day costs its heading once, wherever it stands."""
    ranked = sorted(range(len(records)), key=lambda place: (-_centrality(records[place], counts), place))
    chosen: list[int] = []
    days: set[str] = set()
    for place in ranked:
        if ends_asking(records[place].content):
            continue
        day = name_day(records[place].mentioned_at)
        size = len(records[place].content.split()) + (0 if day in days else len(day.split()))
        if size <= room:
            chosen.append(place)
            days.add(day)
            room -= size
    return [records[place] for place in sorted(chosen)]


def _centrality(record: Record, counts: Counter[str]) -> float:
    stems = set(content_stems(record.content))
    return sum(counts[stem] - 1 for stem in stems) / (len(stems) + 3) if stems else 0.0
