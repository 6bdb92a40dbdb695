"""What is asked later of a conversation is read from every data set in one shape."""

import json

import pytest

from engram_lab.asked import CHANGED, FORGOTTEN, IDLE, message_sets, question_sets, read_updates
from langgraph_engram.errors import InvalidInput, UnreadableFile

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


def test_values_change_and_are_to_be_forgotten_among_other_talk():
    """The newest value is needed, the older ones are stale and said earlier; the same seed makes the same."""
    conversation = read_updates("held-out")[0]

    said_at = {said.external_id: said.said_at for session in conversation.sessions for said in session.messages}
    texts = {said.external_id: said.text for session in conversation.sessions for said in session.messages}
    changed = [asked for asked in conversation.questions if asked.type == CHANGED]
    forgotten = [asked for asked in conversation.questions if asked.type == FORGOTTEN]
    for asked in changed:
        [(newest, stated)] = [turn for turns in asked.needed.values() for turn in turns.items()]
        assert stated[0] in texts[newest]
        assert all(said_at[older] < said_at[newest] for older in asked.stale)
    assert all(not asked.needed and f"{turn}:wish" in texts for asked in forgotten for turn in asked.stale)
    assert read_updates("held-out")[0] == conversation != read_updates("held-out", seed=1)[0]
