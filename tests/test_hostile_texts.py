"""No reader of texts takes time that grows with the square of a text, whatever it is made of.

Eight times the text may take 27 times as long: doubling it three times never triples the time three times. Parts that
readers look for are put together at random; those that once took too long, or raised an error, are always tried.
"""

import random
from datetime import UTC, datetime

import pytest

from langgraph_engram.extraction.evidence import missing_number, read_sentences, verify_record
from langgraph_engram.extraction.lasting import voiced_sentences
from langgraph_engram.prompts.rendering import as_data
from langgraph_engram.screening import mask_secrets
from langgraph_engram.temporal.find import (
    FEW_TIMES,
    MOST_MATCHES,
    find_times,
    parse_constraint,
    parse_time,
    resolve_times,
)
from langgraph_engram.text.keywords import is_small_talk, keywords_of
from langgraph_engram.text.markdown import chunks_of
from langgraph_engram.text.questions import answer_type, read_cues
from langgraph_engram.text.sentences import question_at_end, split_sentences
from langgraph_engram.text.statements import affirmed, location_of, purpose_of, reason_of, slot_of, type_of
from langgraph_engram.text.words import content_stems, numbers_in, spelled_numbers, words
from tests.conftest import make_record, make_turn
from tests.test_long_inputs import cpu_seconds

NOW = datetime(2023, 7, 12, tzinfo=UTC)
SMALL, GROWTH, MOST_TIMES_AS_LONG = 3_000, 8, 27
SLACK = 0.1
"""Seconds of this process."""
PARTS = (
    "May ,Monday ,May 3,3 May 2023 ,2023-,2023/,5:5:,1/2/,1.1.,12:00 ,'98 ,1999 ,from ,between ,March to ,last week ,"
    "the week of ,early ,every ,three weeks ,days from ,a couple of ,next summer ,on the 5th ,on 5/5 ,today ,one ,"
    "hundred ,twenty ,and ,in the ,because ,to help ,not ,don't ,I use A ,I live ,moved to ,my number is 1,My ,Ana's ,"
    "A,a.,A&,x@,www.,http://,(,) ,*,**,1) ,- ,– ,“,?,! ,…,。,😀 ,e.g. ,; ,: ,> ,# ,`,```\n,~~~\n,<a ,<!--,[,](,|,|-|\n,"
    "---\n,\\,    x\n,',“,«,„,<a>,</a>,[a],[/a],a: b\n,: \n,:\n,===\n,[1,\u200b,é,4,1,\t,\n,  "
).split(",")
FOUND = [
    *("5:5:", "1/2/", "May ", "Monday ", "May 3, ", "A", "Mon-", "My ", "2023/", "today "),
    *("hundred ", "one hundred and ", "  "),
]
READERS = {
    "times": lambda text: resolve_times(text, NOW),
    "time": lambda text: parse_time(text, NOW),
    "constraint": lambda text: parse_constraint(text, NOW),
    "sentences": lambda text: (split_sentences(text), question_at_end(text)),
    "passages": lambda text: (chunks_of(text, "user"), chunks_of(text, "assistant")),
    "words": lambda text: (content_stems(text), numbers_in(text), spelled_numbers(words(text))),
    "keywords": lambda text: (keywords_of(text), is_small_talk(text)),
    "clauses": lambda text: (affirmed(text), type_of(text, NOW), slot_of(text, "Ana")),
    "dimensions": lambda text: (location_of(text), reason_of(text), purpose_of(text)),
    "question": lambda text: (answer_type(text), read_cues(text)),
    "evidence": lambda text: verify_record(make_record(0, text), [turn := make_turn(0, text)], [turn]),
    "support": read_sentences,
    "quotation": voiced_sentences,
    "markup": as_data,
    "secrets": mask_secrets,
}


def hostile_shape(seed):
    """Return what makes a text of a length: some parts over and over, after and before some others."""
    choose = random.Random(seed)
    before, unit, after = ("".join(choose.choices(PARTS, k=choose.randint(*most))) for most in ((0, 3), (1, 4), (0, 2)))
    return lambda size: f"{before}{unit * (size // len(unit))}{after}"


def slow_readers(shape):
    """Return the readers that take far longer than a text has grown; of one that does, a second try counts."""

    def grows(read, attempt):
        small, large = (f"{shape(size)} {attempt}" for size in (SMALL, SMALL * GROWTH))
        return cpu_seconds(lambda: read(large)) > MOST_TIMES_AS_LONG * cpu_seconds(lambda: read(small)) + SLACK

    return [name for name, read in READERS.items() if grows(read, "first") and grows(read, "second")]


@pytest.fixture
def few_times(monkeypatch):
    """Read fewer times of a text: those that are read up to the bound take their time in any text of many."""
    monkeypatch.setattr("langgraph_engram.temporal.find.MOST_MATCHES", 100)


@pytest.mark.usefixtures("few_times")
@pytest.mark.parametrize("part", FOUND)
def test_what_once_took_the_square_of_a_text(part):
    """None does any more, and none raises an error."""
    assert slow_readers(lambda size: f"I don't ({part * (size // len(part))}") == []


@pytest.mark.usefixtures("few_times")
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 4_000), marks=[pytest.mark.campaign])])
def test_no_shape_takes_the_square_of_a_text(seeds):
    """Doubling a text never triples the time of any reader."""
    assert {seed: slow for seed in seeds if (slow := slow_readers(hostile_shape(seed)))} == {}


def test_a_number_too_long_is_no_number():
    """What is spelled out beyond all bounds, or written in thousands of digits, raises no error."""
    long = "one hundred and " * 5_000

    assert set(map(len, spelled_numbers(words(long)))) == set(range(1, 16, 2))
    assert missing_number(["7" * 5_000, "0" * 5_000], ()) == "7" * 5_000
    assert parse_time("2023/" * 5_000, NOW) is None


def test_a_table_of_dates_is_read_up_to_a_bound():
    """The rest is left as it is, and no date of it is read in part."""
    assert len(find_times("on 3 May 2023, 4 June and 5 July, " * 3 * MOST_MATCHES, NOW)) == MOST_MATCHES
    assert len(find_times("on 4 June, on 5 July, on 6 May, " * FEW_TIMES, NOW)) < 2 * FEW_TIMES
