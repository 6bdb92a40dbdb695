"""A moment is an instant and a wall time: both are kept, and each is used where it belongs."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langgraph_engram.memory import Memory
from langgraph_engram.prompts.rendering import format_evidence
from langgraph_engram.schema import Evidence, Turn
from langgraph_engram.state import RememberRequest
from langgraph_engram.temporal.datetimes import wall_time, with_offset

SYDNEY, CALIFORNIA = "2024-06-12T08:00:00+10:00", "2024-06-11T22:00:00-07:00"
CAMPED = "I camped at Bled yesterday."


def camped(said_at):
    return {"speaker": "Ana", "text": CAMPED, "said_at": said_at}


def turn_at(said_at, text="Hello.", seq=0):
    moment = datetime.fromisoformat(said_at)
    return Turn(turn_id=said_at, session_id="s", seq=seq, role="user", speaker="Ana", text=text, said_at=moment)


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        (datetime(2024, 6, 12, 8), "2024-06-12T08:00:00+00:00"),
        (datetime(2024, 6, 12, 8, tzinfo=timezone(timedelta(0), "GMT")), "2024-06-12T08:00:00+00:00"),
        (datetime(2024, 6, 12, 8, tzinfo=ZoneInfo("Europe/Ljubljana")), "2024-06-12T08:00:00+02:00"),
        (datetime.fromisoformat(SYDNEY), SYDNEY),
    ],
)
def test_a_moment_keeps_the_offset_that_it_came_with(moment, kept):
    """A zone by name is the offset that it had then; none is UTC."""
    assert with_offset(moment).isoformat() == kept
    assert wall_time(with_offset(moment)).isoformat() == f"{kept[:19]}+00:00"


@pytest.mark.parametrize(
    ("said_at", "heading", "day"),
    [
        (SYDNEY, "12 Jun 2024", "11 June 2024"),
        (CALIFORNIA, "11 Jun 2024", "10 June 2024"),
        ("2024-06-12T08:00:00Z", "12 Jun 2024", "11 June 2024"),
        ("2024-06-12T08:00:00", "12 Jun 2024", "11 June 2024"),
    ],
)
@pytest.mark.parametrize("store", ["memory:", "folder"])
def test_yesterday_is_the_day_before_the_speakers(tmp_path, store, said_at, heading, day):
    """Answers and headings go by the speaker's clock, and still do when the store is opened again."""
    where = store if store == "memory:" else tmp_path / "store"
    with Memory(where, "rules", encoder="hashing") as memory:
        memory.remember([camped(said_at)], user_id="ana", close_session=True)
        results = [memory.recall("When did Ana camp at Bled?", user_id="ana")]
    if store == "folder":
        with Memory(where, "rules", encoder="hashing") as memory:
            results.append(memory.recall("When did Ana camp at Bled?", user_id="ana"))

    for result in results:
        assert result.answer == f'Ana, {heading}: "I camped at Bled yesterday." [1]'
        assert result.evidence[0].text == f"{heading}, Ana: I camped at Bled yesterday ({day})."


@pytest.fixture
def memory():
    """Ana spoke in Sydney, and an hour later, which was the day before there, in California."""
    with Memory("memory:", "rules", encoder="hashing") as opened:
        opened.remember([{**camped(SYDNEY), "text": "I keep bees."}], user_id="ana", session_id="one")
        later = {"speaker": "Ana", "text": "I sold my red boat.", "said_at": "2024-06-11T16:00:00-07:00"}
        opened.remember([later], user_id="ana", session_id="two")
        yield opened


def test_instants_order_and_end_what_was_said(memory):
    """Whatever its clock showed, what was said later is later, and not there before."""
    assert [turn.session_id for turn in memory.show("turns", "ana")] == ["one", "two"]
    assert [event.status for event in memory.show("events", "ana")] == ["closed", "open"]
    assert memory.search("bees", user_id="ana", as_of="2024-06-11T21:59:59Z").evidence == []
    assert len(memory.search("bees", user_id="ana", as_of=SYDNEY).evidence) == 1
    assert len(memory.search("bees", user_id="ana", as_of="2024-06-12T09:00:00+10:00", stop=0).evidence) == 2


def test_the_same_instant_on_another_clock_is_known(memory):
    """A message that is sent again with its moment in UTC is no new one."""
    again = {"speaker": "Ana", "text": "I keep bees.", "said_at": "2024-06-11T22:00:00Z"}

    receipt = memory.remember([again], user_id="ana", session_id="one")

    assert (receipt.stored_turns, receipt.known_turns) == (0, 1)


@pytest.mark.parametrize(("day", "expected"), [("12 June 2024", "bees"), ("11 June 2024", "boat")])
def test_what_was_mentioned_on_a_day_was_mentioned_on_the_speakers(memory, day, expected):
    """Ana mentioned bees on her 12 June and the boat on her 11 June, though in UTC both were 11 June."""
    found = memory.search(f"What did Ana say on {day}?", user_id="ana")

    assert expected in found.evidence[0].text


def test_passages_are_rendered_in_the_order_of_their_instants():
    """What a model is shown is in order, under the days of the speakers."""
    early, late = turn_at(SYDNEY, "Good morning."), turn_at("2024-06-11T16:00:00-07:00", "Good afternoon.", seq=1)
    passages = [Evidence(evidence_id=turn.turn_id, text=turn.text, turns=[turn]) for turn in (late, early)]

    assert format_evidence(passages).splitlines() == [
        "-- Wed 12 June 2024, 08:00",
        "[2] Ana: Good morning.",
        "-- Tue 11 June 2024, 16:00",
        "[1] Ana: Good afternoon.",
    ]


def test_a_checkpoint_keeps_the_offset():
    """What is reloaded shows the same day, whether it came as a datetime or as JSON."""
    message = {"text": CAMPED, "said_at": SYDNEY}
    request = RememberRequest.model_validate({"user_id": "ana", "messages": [message]})
    serde = JsonPlusSerializer(allowed_msgpack_modules=[RememberRequest])

    reloaded = serde.loads_typed(serde.dumps_typed(request))

    assert reloaded == request
    assert reloaded.messages[0].said_at.isoformat() == SYDNEY
    assert request.messages[0].said_at.tzinfo == timezone(timedelta(hours=10))


def test_a_state_is_over_when_the_day_of_the_next_began_for_its_speaker(tmp_path):
    """Ana moves on 12 June in Sydney: at 22:30 of the 11th in UTC she has moved, at 13:30 she has not."""
    said = [
        ("I live in Oslo.", "2024-05-01T08:00:00+10:00"),
        ("I moved to Bergen today, I live in Bergen now.", SYDNEY),
    ]
    with Memory(tmp_path / "store", "rules", encoder="hashing") as memory:
        for text, at in said:
            memory.remember([{"speaker": "Ana", "text": text, "said_at": at}], user_id="ana", close_session=True)

        then, before = (
            memory.search("Where does Ana live?", user_id="ana", as_of=moment).evidence[0].text
            for moment in ("2024-06-11T22:30:00Z", "2024-06-11T13:30:00Z")
        )

    assert "Bergen" in then
    assert "Bergen" not in before
