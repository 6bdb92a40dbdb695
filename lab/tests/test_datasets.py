"""Data sets are read as what was said, questions beside their evidence; other shapes are refused with their place."""

import gzip
import json
from datetime import UTC, datetime

import pytest

from engram_lab.datasets import normalise_ids, read_beam, read_locomo, read_longmemeval
from langgraph_engram.errors import UnreadableFile


def sample(**changes):
    """Make a small sample of LoCoMo's shape, in our own words."""
    conversation = {
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
    derived = {"observation": {"session_2_observation": "secret"}, "session_summary": {"session_2_summary": "secret"}}
    return {"sample_id": "talk-1", "conversation": conversation | changes, **derived, "qa": []}


def item(**changes):
    """Make a small item of LongMemEval's shape."""
    turns = [
        {"role": "user", "content": "I moved the hives. They sting.", "has_answer": True},
        {"role": "assistant", "content": "  "},
        {"role": "assistant", "content": "Where to?"},
    ]
    return {
        "question_id": "q1_abs",
        "question_type": "multi-session",
        "question": "Where are the hives?",
        "question_date": "2023/06/01",
        "answer_session_ids": ["a1"],
        "haystack_session_ids": ["a1", "b2", "c3"],
        "haystack_dates": ["2023/05/20 (Sat) 00:44", "2023/05/21", "2023/05/22"],
        "haystack_sessions": [turns, [{"role": "user", "content": "Hello"}], [{"role": "user", "content": ""}]],
    } | changes


def chat(*batch, asked=()):
    """Make a chat of BEAM's shape, of one batch."""
    return {"chat": [{"turns": [list(batch)]}], "probing_questions": {"abstention": list(asked)}}


@pytest.fixture
def write(tmp_path):
    """Write JSON, and give its path."""

    def written(data):
        path = tmp_path / "data.json"
        path.write_text(json.dumps(data))
        return path

    return written


def messages_of(conversation):
    return [message for session in conversation.sessions for message in session.messages]


def test_locomos_sessions_come_in_order_with_what_was_said_and_shown(write):
    """10 follows 2, a date without a session is none; searches, addresses and what is derived stay out."""
    [talk] = read_locomo(write(sample()))

    fed = "".join(message.model_dump_json() for message in messages_of(talk))
    look, spoon, boat = messages_of(talk)
    assert [session.session_id for session in talk.sessions] == ["session_2", "session_10"]
    assert (look.text, look.captions, spoon.captions) == ("Look!", ["a jar of honey"], ["a spoon"])
    assert (look.said_at, look.external_id) == (datetime(2023, 5, 8, 13, 56, tzinfo=UTC), "D2:1")
    assert boat.said_at == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
    assert not any(word in fed for word in ("photo", "example.org", "secret"))


def test_locomos_questions_keep_their_index_and_the_evidence_that_exists(locomo_file):
    """Adversarial questions are not read; ids without a turn are dropped; answers are text."""
    questions = read_locomo(locomo_file)[0].questions

    assert [(question.index, question.category, question.gold) for question in questions][2:] == [
        (2, 3, "Yes; she planted"),
        (3, 4, "7"),
    ]
    assert [list(question.evidence) for question in questions] == [["D1:2"], ["D1:1"], [], ["D2:1", "D2:2"]]
    assert questions[3].evidence["D2:2"] == ["a photo of an empty barn"]


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D9:1 D4:4", "D4:04"], ["D9:1", "D4:4"]),
        (["D", "D:11:26", "D1:2"], ["D1:2"]),
        ([], []),
    ],
)
def test_evidence_ids_are_normalised(evidence, ids):
    """Several in one string are taken apart, zeros go, what is no id is left out, repeats count once."""
    assert normalise_ids(evidence) == ids


@pytest.mark.parametrize("form", ["json", "jsonl", "one"])
def test_haystacks_are_read_in_every_packing_beside_their_evidence(tmp_path, form):
    """A list, lines, or one item, gzipped; marked turns are evidence, empty turns are none."""
    packed = {"json": json.dumps([item()]), "jsonl": f"{json.dumps(item())}\n", "one": json.dumps(item())}[form]
    path = tmp_path / "haystack.gz"
    path.write_bytes(gzip.compress(packed.encode()))

    [haystack] = read_longmemeval(path)

    hives, where, hello = messages_of(haystack)
    [question] = haystack.questions
    assert [session.session_id for session in haystack.sessions] == ["a1", "b2"]
    assert (where.role, where.speaker, where.text, where.external_id) == ("assistant", "assistant", "Where to?", "a1:3")
    assert (hives.said_at, hello.said_at) == (
        datetime(2023, 5, 20, 0, 44, tzinfo=UTC),
        datetime(2023, 5, 21, tzinfo=UTC),
    )
    assert haystack.asked_at == datetime(2023, 6, 1, tzinfo=UTC)
    assert (question.unanswerable, question.evidence_turns) == (True, ["a1:1"])
    assert question.evidence_sessions["a1"]["a1:1"] == ["I moved the hives.", "They sting."]


def test_chats_are_read_with_their_days_and_sources(write):
    """The generator's marks go, a day holds until the next, ids that no message has are left out."""
    said = [
        {"role": "user", "id": 0, "content": "My canoe leaks. ->-> 1,1", "time_anchor": "March-15-2024"},
        {"role": "assistant", "id": 1, "content": "Tar it."},
        {"role": "assistant", "id": 2, "content": " "},
    ]
    sources = {"original_info": [0], "updated_info": [[1], 99]}
    [read] = read_beam(write([chat(*said, asked=[{"question": "Why?", "rubric": ["x"], "source_chat_ids": sources}])]))

    assert [message.text for message in messages_of(read)] == ["My canoe leaks.", "Tar it."]
    assert messages_of(read)[1].said_at == datetime(2024, 3, 15, tzinfo=UTC)
    assert (list(read.questions[0].evidence), read.questions[0].gold) == (["0", "1"], "x")


@pytest.mark.parametrize(
    ("read", "data", "problem"),
    [
        (read_locomo, sample(session_2_date_time="May 8"), "\"1:56 pm on 8 May, 2023\" for session_2, not 'May 8'"),
        (read_locomo, sample(session_2="none"), "a list of turns at session_2"),
        (read_locomo, sample(session_2=[{"speaker": "Ilse"}]), "speaker, dia_id and text at session_2[0]"),
        (read_locomo, {"conversation": []}, "a `conversation` object"),
        (read_locomo, {"conversation": {}}, "a list of questions at qa of sample 0"),
        (read_locomo, [sample(), 5], "an object as sample 1, not 5"),
        (read_locomo, [], "at least one sample"),
        (read_longmemeval, item(haystack_dates=["2023/05/20"]), "of equal length, not 3, 1, 3"),
        (read_longmemeval, item(haystack_dates=None), "a list haystack_dates, not None"),
        (read_longmemeval, item(haystack_dates=["20 May", "2023/05/21", "2023/05/21"]), "not '20 May'"),
        (read_longmemeval, item(haystack_sessions=[[], {}, []]), "a list of turns in session b2"),
        (read_longmemeval, item(haystack_sessions=[[], [{"role": ["owl"]}], []]), "role user or assistant and content"),
        (read_longmemeval, {"question": "What?"}, "question_id, question_type and question at item 0"),
        (read_beam, [{}], "expected chat and probing_questions"),
        (read_beam, [{"chat": [{"turns": [7]}], "probing_questions": {}}], "a list of lists of messages"),
        (read_beam, [chat({"role": "user"})], "a message with role, id and content"),
        (read_beam, [chat({"role": "user", "id": 1, "content": "x", "time_anchor": "soon"})], "March-15-2024"),
        (read_beam, [chat(asked=["x"])], "a question with its rubric at abstention[0]"),
    ],
)
def test_another_shape_is_refused_with_its_place(write, read, data, problem):
    """One line that says what was expected, and in which file."""
    with pytest.raises(UnreadableFile) as caught:
        read(write(data))

    assert problem in str(caught.value)
    assert str(caught.value).startswith(str(write(data)))
