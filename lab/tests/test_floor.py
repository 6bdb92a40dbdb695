"""A memory is held against plain vector search at equal tokens, on questions and on messages of every sort."""

import json

import pytest

from engram_lab import floor
from engram_lab.asked import IDLE, message_sets, question_sets
from engram_lab.evidence_scores import fit_budget
from engram_lab.floor import VectorSearch, below_floor, user_sentences, whole_turns
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.messages import to_messages

PEANUT = [
    {"role": "user", "text": "Half are pens. Anton swells up from a peanut."},
    {"role": "assistant", "text": "Glad!"},
]
REQUESTS = {
    "cases": [{"kind": "constraint", "memory": PEANUT, "request": "Snacks without a peanut?", "use": "", "hard": True}],
    "idle": ["regex for ISO dates"],
}
REMARKS = [
    {"relation_type": "goal", "cue_dialogue": "A: I quit sugar.\nB: Brave!", "trigger_query": "A: I had sugar today."},
    {"relation_type": "cause", "cue_dialogue": "I sold my boat.", "trigger_query": "I miss the boat."},
]


@pytest.fixture
def messages_files(tmp_path):
    """Write requests and remarks."""
    files = {"requests": tmp_path / "requests.json", "remarks": tmp_path / "remarks.json"}
    files["requests"].write_text(json.dumps(REQUESTS))
    files["remarks"].write_text(json.dumps(REMARKS))
    return files


def test_vectors_alone_rank_turns_and_the_users_sentences():
    """By the cosine to the query; a sentence costs less than its turn, and what an assistant says is no user's."""
    messages = to_messages(
        [
            {"role": "user", "text": "The soil is clay. I planted three apple trees.", "external_id": "1"},
            {"role": "assistant", "text": "Three apple trees!", "external_id": "2"},
        ]
    )

    turns, sentences = (VectorSearch(HashingEncoder(), messages, texts) for texts in (whole_turns, user_sentences))

    assert [passage.turn_ids for passage in turns.search("three apple trees")] == [["2"], ["1"]]
    best, other = sentences.search("three apple trees")
    assert "planted" in best.text
    assert best.turn_ids == other.turn_ids == ["1"]
    assert fit_budget([best], 12) == [best]


def test_what_a_message_needs_is_put_among_other_sessions(messages_files, haystacks_file, locomo_file):
    """A session of its own holds it, said by whom the file names; idle messages need nothing."""
    sets = message_sets("held-out", messages_files["requests"], haystacks_file, messages_files["remarks"], locomo_file)

    [requests], (first, second) = sets["requests"], sets["remarks"]
    snacks, idle = requests.questions
    assert [session.session_id for session in requests.sessions] == ["answer_1", "told-0", "other"]
    assert (list(snacks.needed["told-0"]), snacks.hard) == (["told-0:0", "told-0:1"], True)
    assert (idle.type, idle.needed) == (IDLE, {})
    assert [message.speaker for message in first.sessions[1].messages] == ["Ilse", "Omar"]
    assert [talk.questions[0].question for talk in (first, second)] == ["I had sugar today.", "I miss the boat."]
    assert [message.text for message in second.sessions[1].messages] == ["I sold my boat."]
    assert any(asked.thread and asked.needed for person in sets["people"] for asked in person.questions)


def test_each_evidence_turn_of_a_question_is_needed(locomo_file, haystacks_file):
    """In every data set alike."""
    sets = question_sets(locomo_file, haystacks_file, None)

    assert [len(asked.needed) for asked in sets["locomo"][0].questions] == [1, 1, 0, 2]
    assert list(sets["longmemeval"][0].questions[0].needed) == ["answer_1:1"]
    assert "beam" not in sets


def test_files_that_belong_together_are_asked_for(messages_files, locomo_file):
    """Requests need chats to stand in; a file of another shape is refused with what was expected."""
    with pytest.raises(InvalidInput, match="name its file too"):
        message_sets("fit", messages_files["requests"], None, None, None)
    with pytest.raises(UnreadableFile, match="expected a list of relation_type"):
        message_sets("fit", None, None, messages_files["requests"], locomo_file)


def test_messages_and_questions_are_measured(engram, messages_files, haystacks_file, locomo_file, monkeypatch):
    """A row for each data set, and for each type of message; all fits the largest budget."""
    monkeypatch.setattr("engram_lab.asked.read_people", lambda split: [])
    requests, remarks = (str(messages_files[name]) for name in ("requests", "remarks"))
    further = [
        "--requests",
        requests,
        "--remarks",
        remarks,
        "--locomo",
        str(locomo_file),
        "--encoder",
        "hashing",
        "--json",
    ]

    code, document, _ = engram("bench", "messages", "--haystacks", str(haystacks_file), *further)
    floor_code, floor_document, _ = engram("bench", "floor", "--longmemeval", str(haystacks_file), *further)

    messages, rows = json.loads(document), json.loads(floor_document)
    assert (code, floor_code) == (0, 0)
    assert list(messages) == [
        *("requests", "requests, hard", "requests, constraint", "requests, idle"),
        *("remarks", "remarks, cause", "remarks, goal"),
    ]
    assert list(rows) == ["locomo", "longmemeval", *messages]
    assert messages["requests, idle"]["shown"] is None
    for name in rows.keys() - {"requests, idle"}:
        assert [rows[name][f"{found} 2000"] for found in ("turns", "sentences")] == [1.0, 1.0], name


@pytest.mark.parametrize(("own", "below"), [(0.5, ["talks"]), (0.69, []), (0.8, [])])
def test_a_memory_may_not_show_less_than_vectors_alone(own, below):
    """Within two points of the better of both, at a thousand tokens."""
    row = {"engram 1000": own, "turns 1000": 0.7, "sentences 1000": 0.6, "engram 500": 0.0, "turns 500": 1.0}

    assert below_floor({"talks": row, "talks, hard": row | {"engram 1000": 0.0}}, ["talks"]) == below


def test_a_memory_below_the_floor_ends_with_status_1(engram, locomo_file, monkeypatch):
    """The data sets are named on stderr."""
    monkeypatch.setattr("engram_lab.asked.read_people", lambda split: [])
    monkeypatch.setattr(floor, "TOLERANCE", -1.1)

    code, out, err = engram("bench", "floor", "--locomo", str(locomo_file), "--encoder", "hashing")

    assert (code, "below plain vector search: locomo" in err) == (1, True)
    assert out.splitlines()[0].startswith("\tasked\tshown\ttokens")
