"""LoCoMo's conversations become sessions of what was said, and of nothing else."""

import json
from datetime import UTC, datetime

import pytest

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.files import read_sessions


def sample(sample_id="talk-1", **changes):
    """Make a small sample of LoCoMo's shape, in our own words."""
    conversation = {
        "speaker_a": "Ilse",
        "speaker_b": "Omar",
        "session_10": [{"speaker": "Omar", "dia_id": "D10:1", "text": "The boat leaks."}],
        "session_10_date_time": "12:05 am on 1 January, 2024",
        "session_2": [
            {
                "speaker": "Ilse",
                "dia_id": "D2:1",
                "text": "Look!",
                "blip_caption": "a jar of honey",
                "query": "honey jar photo",
                "img_url": ["https://example.org/honey.png"],
            },
            {"speaker": "Omar", "dia_id": "D2:2", "text": ""},
            {"speaker": "Ilse", "dia_id": "D2:3", "text": "", "blip_caption": "a spoon"},
        ],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_3_date_time": "2:00 pm on 9 May, 2023",
    }
    return {
        "sample_id": sample_id,
        "conversation": conversation | changes,
        "observation": {"session_2_observation": "secret"},
        "session_summary": {"session_2_summary": "secret"},
        "qa": [],
    }


@pytest.fixture
def write(tmp_path):
    """Write JSON, and give its path."""

    def _write(data):
        path = tmp_path / "talks.json"
        path.write_text(json.dumps(data))
        return path

    return _write


def test_sessions_come_in_the_order_of_their_numbers_with_their_times(write):
    """10 follows 2; a date without a session is none; every turn has the time of its session."""
    first, second = read_sessions(write(sample()))

    assert [first.session_id, second.session_id] == ["session_2", "session_10"]
    assert {message.said_at for message in first.messages} == {datetime(2023, 5, 8, 13, 56, tzinfo=UTC)}
    assert second.messages[0].said_at == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)


def test_only_what_was_said_and_shown_is_fed(write):
    """Search strings, addresses, observations and summaries stay out; a turn that says nothing is left out."""
    sessions = read_sessions(write([sample()]), format="locomo")

    fed = "".join(message.model_dump_json() for session in sessions for message in session.messages)
    [shown, spoon] = sessions[0].messages
    assert (shown.role, shown.speaker, shown.external_id) == ("user", "Ilse", "D2:1")
    assert (shown.text, shown.captions, spoon.captions) == ("Look!", ["a jar of honey"], ["a spoon"])
    assert not any(word in fed for word in ("photo", "example.org", "secret"))


def test_one_of_several_samples_must_be_chosen(write):
    """The error names them; a choice that is not there is an error too."""
    path = write([sample("talk-1"), sample("talk-2", session_2=[])])

    chosen = read_sessions(path, sample="talk-2")

    assert [session.session_id for session in chosen] == ["session_10"]
    with pytest.raises(InvalidInput, match=r"holds 2 samples: choose one .* of talk-1, talk-2"):
        read_sessions(path)
    with pytest.raises(InvalidInput, match="unknown sample 'talk-3': choose one of talk-1, talk-2"):
        read_sessions(path, sample="talk-3")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (sample(session_2_date_time="May 8"), "a time like \"1:56 pm on 8 May, 2023\" for session_2, not 'May 8'"),
        (sample(session_2="none"), "a list of turns at session_2"),
        (sample(session_2=[{"speaker": "Ilse"}]), "speaker, dia_id and text at session_2[0]"),
        ({"conversation": []}, "a `conversation` object"),
        ([sample(), 5], "an object as sample 1, not 5"),
    ],
)
def test_another_shape_says_where_it_broke(write, data, problem):
    """One line with the location."""
    with pytest.raises(UnreadableFile) as caught:
        read_sessions(write(data))

    assert problem in str(caught.value)
