"""Numbers, names and dates of a record must be in its sources, or follow from them."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langgraph_engram.extraction.evidence import verify_record
from langgraph_engram.extraction.records import build_records
from langgraph_engram.nodes.verify import Verify
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.prompts.rendering import number_sentences
from langgraph_engram.rule_model.turns import extract_records
from langgraph_engram.schema import Prompt, Turn
from langgraph_engram.settings import VerifySettings
from tests.conftest import make_record, make_turn


def verdict(said, content, captions=(), **fields):
    """Verify a record of this content against one turn of this text, said on 8 May 2023."""
    source = make_turn(0, said, captions=list(captions))
    return verify_record(make_record(0, content, **fields), [source], [source])


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I bought 3 apple trees.", "Ana bought 3 apple trees."),
        ("I bought three apple trees.", "Ana bought 3 apple trees."),
        ("It cost $1,200.", "It cost Ana 1200 dollars."),
        ("I turned twenty-five.", "Ana turned 25."),
        ("I swim twice a week.", "Ana swims 2 times a week."),
        ("We open at 7am on weekdays.", "They open at 7:00 on weekdays."),
        ("I was born in '98.", "Ana was born in 1998."),
        ("It cost $1,200.50 in all.", "Ana paid 1,200.50 for it."),
        ("We met Runa in Oslo.", "Ana met Runa in Oslo."),
        ("I moved.", "Ana moved."),
        ("I went to a pottery class yesterday and loved it.", "Ana attended a pottery class and loved it."),
        ("I sold my iPhone on eBay.", "Ana sold her iPhone on eBay."),
        ("I camped yesterday.", "Ana camped on 7 May 2023."),
        ("I camp today.", "Ana camped on 8 May 2023."),
    ],
)
def test_what_the_sources_say_stands(said, content):
    """Numbers as digits or words, names, the speaker, and dates that follow from the turn's own clock."""
    verified = verdict(said, content)

    assert (verified.status, verified.reject_reason) == ("active", "")


@pytest.mark.parametrize(
    ("said", "content", "named"),
    [
        ("I bought apple trees.", "Ana bought 4 apple trees.", "'4'"),
        ("I bought 3 trees.", "Ana bought 30 trees.", "'30'"),
        ("My sister lives there.", "Ana's sister Runa lives there.", "'Runa'"),
        ("I camped yesterday.", "Ana camped on 3 May 2023.", "'3 May 2023'"),
        ("I eat meat.", "Ana does not eat meat.", "it denies what nobody denied"),
        ("I don't eat meat, only fish.", "Ana eats meat.", "it was denied: eat, meat"),
        ("I went to a pottery class.", "Ana dreams of sailing around the world alone.", "alon, around, dream"),
    ],
)
def test_what_no_source_says_is_quarantined_with_its_reason(said, content, named):
    """The reason names what is missing, or turned around; what was quarantined already keeps its own."""
    verified, before = verdict(said, content), verdict(said, content, status="quarantined", reject_reason="no source")

    assert verified.status == "quarantined"
    assert named in verified.reject_reason
    assert before.reject_reason == "no source"


def test_an_image_is_evidence():
    """What a caption says counts as said."""
    assert verdict("Look!", "Ana shares a photo of 2 dogs in Bergen.", ["2 dogs in Bergen"]).status == "active"
    assert verdict("Look!", "Ana shares a photo of 2 dogs in Bergen.").status == "quarantined"


def test_a_date_that_follows_from_no_source_is_left_out():
    """The event's date is that of the day it was mentioned, or one that the words lead to; the rest is true without."""
    mentioned, follows, invented = (datetime(2023, 5, day, tzinfo=UTC) for day in (8, 7, 1))

    verified = [
        verdict(
            "I camped yesterday.", "Ana camped.", event_start=day, event_end=day.replace(hour=23), time_text="noted"
        )
        for day in (mentioned, follows, invented)
    ]

    assert [record.status for record in verified] == ["active", "active", "active"]
    assert [record.event_start for record in verified] == [mentioned, follows, None]
    assert (verified[2].event_end, verified[2].time_text) == (None, "")


def test_what_a_turn_beside_the_source_gives_is_evidence_and_joins_the_sources(turn, record):
    """A name stands for a pronoun; a number must be said of the same thing; only core turns are cited."""
    nearby = [turn(0, "My sister Runa called 5 times."), turn(1, "She lives in Oslo.")]

    def verify(content, citable=("t0", "t1")):
        return verify_record(record(1, content), nearby[1:], nearby, citable)

    named, counted = verify("Ana's sister Runa lives in Oslo."), verify("Runa, who called 5 times, lives in Oslo.")
    elsewhere = verify("Runa lives in Oslo with 5 cats.")
    from_context = verify("Runa, who called 5 times, lives in Oslo.", citable=["t1"])

    assert (named.source_turn_ids, counted.source_turn_ids) == (["t0", "t1"], ["t0", "t1"])
    assert (elsewhere.status, "'5'" in elsewhere.reject_reason) == ("quarantined", True)
    assert (from_context.status, from_context.source_turn_ids) == ("active", ["t1"])


def test_the_rest_of_a_shared_prompt_is_evidence(store, keep, turn, record, event, to_remember):
    """Short events share a prompt: what one of them names, a record of the other may name as well."""
    turns = [
        turn(0, "I joined a chess club in Bergen."),
        turn(1, "Is it far?"),
        turn(2, "No. The club has 40 members."),
    ]
    keep(turns=turns)
    prompts = [Prompt(turn_ids=["t0", "t1", "t2"])]
    state = {"request": to_remember(), "events": [event(0, 0), event(1, 1, 2)], "prompts": prompts}
    drawn = record(2, "Ana's chess club in Bergen has 40 members.", event_id="e1")

    (verified,) = Verify(store, VerifySettings())({**state, "records": [drawn]})["records"]

    assert (verified.status, verified.source_turn_ids) == ("active", ["t0", "t2"])


def test_verification_can_be_turned_off(store, keep, turn, record, to_remember):
    """As under the papers' presets."""
    keep(turns=[turn(0)])
    state = {"request": to_remember(), "events": [], "records": [record(0, "Ana has 7 cats.")]}

    assert Verify(store, VerifySettings(enabled=False))(state) == {}
    assert Verify(store, VerifySettings())(state)["records"][0].status == "quarantined"


def test_the_turns_of_earlier_calls_are_evidence(store, keep, turn, record, event, to_remember):
    """A record may cite, and take names from, what an earlier call of its event stored."""
    keep(turns=[turn(0, "I have 7 cats, with Runa."), turn(1)])
    state = {"request": to_remember(), "events": [event(0, 0, 1)]}

    update = Verify(store, VerifySettings())({**state, "records": [record(0, "Ana and Runa have 7 cats.")]})

    assert update["records"][0].status == "active"


SENTENCES = (
    "I went to Oslo last week.",
    "My sister Runa turned twenty-one on 3/4/2022.",
    "It cost €1,200.50!",
    "We'll meet at 5pm.",
    "On May 7th, Dr. O'Neil called.",
    "Last year I ran 42.195 km in Berlin.",
    "I live in New York City, NY.",
    "Why?",
    "The 2nd of June 2021 was great.",
    "I've 2 dogs and 3 cats.",
    "Two days ago we saw “Top Gun”.",
    "Zoë moved to Zürich.",
    "Next month, Ben & I fly to L.A.",
    "Over the weekend I read 1984.",
    "I sold my iPhone on eBay for 3D glasses.",
    "In the summer of '69 I was 12.",
)
SAID = st.lists(st.one_of(st.sampled_from(SENTENCES), st.text(max_size=40)), min_size=1, max_size=5).map(" ".join)


def build_all(turns, candidates):
    sentences = number_sentences(turns, small_talk=True)
    return build_records("scope", sentences, {"Ana": "e", "Ben": "e"}, candidates) if sentences else []


@settings(max_examples=60)
@given(SAID, SAID)
@example("I went to Oslo last week.", "A\r Last year I ran 42.195 km in Berlin.")
def test_what_rules_extract_from_a_text_is_supported_by_it(first, second):
    """The rules keep what was said as it was said: nothing of theirs is ever quarantined."""
    said_at = datetime(2023, 5, 8, 12, tzinfo=UTC)
    turns = [
        Turn(turn_id=name, session_id="s", seq=seq, role="user", speaker=name, text=text, said_at=said_at)
        for seq, (name, text) in enumerate((("Ana", first), ("Ben", second)))
    ]
    candidates = [("dimensional", draft) for draft in extract_records(ExtractRecords(tuple(turns))).drafts]

    records = build_all(turns, candidates)

    by_id = {turn.turn_id: turn for turn in turns}
    verified = [
        verify_record(record, [by_id[turn_id] for turn_id in record.source_turn_ids], turns) for record in records
    ]
    assert [(record.content, record.reject_reason) for record in verified if record.status != "active"] == []


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("I adopted a dog last week.", "quarantined"),
        ("You adopted a dog last week!", "active"),
        ("Ben adopted a dog last week.", "active"),
    ],
)
def test_what_one_says_of_oneself_is_not_said_of_another(turn, record, said, status):
    """A record about Ben that rests on what Ana says of herself is quarantined."""
    nearby = [turn(0, "Hi!", speaker="Ben"), turn(1, said)]

    verified = verify_record(record(1, "Ben adopted a dog."), nearby[1:], nearby)

    assert verified.status == status
    assert status == "active" or verified.reject_reason == "it says of Ben what Ana said"


def test_a_dimension_that_nobody_mentioned_is_left_open():
    """A place, a reason and keywords stay only if they were said; the record itself stays."""
    noted = {"location": "Lyon", "reason": "to please her coach", "purpose": "to relax"}
    keywords = ["camping", "Lyon"]

    verified = verdict("I went camping by the lake to relax.", "Ana went camping.", **noted, keywords=keywords)

    assert (verified.status, verified.location, verified.reason) == ("active", "", "")
    assert (verified.purpose, verified.keywords) == ("to relax", ["camping"])


def test_a_number_of_the_question_is_evidence_for_the_reply_quoted_with_it(turn, record):
    """A short reply is quoted with its question, which nobody need have answered in this call."""
    nearby = [turn(0, "Did you buy 3 trees?", speaker="Ben"), turn(1, "Yes, apple trees.")]

    verified = verify_record(record(1, "Ben: Did you buy 3 trees? Ana: Yes, apple trees."), nearby[1:], nearby)

    assert verified.status == "active"


@pytest.mark.parametrize(("role", "status"), [("assistant", "quarantined"), ("user", "active")])
def test_what_an_assistant_repeats_from_memory_is_not_kept_again(store, keep, turn, record, to_remember, role, status):
    """Recalled text that comes back in a reply would confirm itself; a user may say a thing twice."""
    again = turn(5, "You went camping by the lake in Norway.", role=role, speaker=role)
    keep(turns=[again], records=[record(0, "Ana went camping by the lake in Norway.")])
    recycled = record(5, "assistant: You went camping by the lake in Norway.", record_id="recycled", speaker=role)
    state = {"request": to_remember(), "events": [], "records": [recycled]}

    (verified,) = Verify(store, VerifySettings())(state)["records"]

    assert verified.status == status
    assert status == "active" or verified.reject_reason == "it recycles the record r0"
