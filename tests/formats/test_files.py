"""A file of conversations becomes sessions, or is refused in one line that says where it broke."""

import gzip
import json

import pytest

from langgraph_engram.errors import InvalidInput, InvalidMessages, UnreadableFile
from langgraph_engram.formats.files import read_sessions

MESSAGES = [{"speaker": "Ilse", "text": "I keep bees."}, {"speaker": "Omar", "text": "Since when?"}]


@pytest.fixture
def write(tmp_path):
    """Write a file of any content, and give its path."""

    def _write(content, name="talk.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else _text(content).encode())
        return path

    return _write


def _text(content):
    return content if isinstance(content, str) else json.dumps(content)


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        (MESSAGES, [None]),
        ({"messages": MESSAGES}, [None]),
        ({"session_id": "s1", "messages": MESSAGES}, ["s1"]),
        (
            {"sessions": [{"session_id": "s1", "messages": MESSAGES}, {"session_id": 2, "messages": MESSAGES}]},
            ["s1", "2"],
        ),
        ([{"session_id": "s1", "messages": MESSAGES}, {"messages": MESSAGES}], ["s1", None]),
        ({"sessions": [{"session_id": "s1", "messages": MESSAGES}, {"session_id": "s2", "messages": []}]}, ["s1"]),
        ("\n".join(map(json.dumps, MESSAGES)) + "\n\n", [None]),
        (
            json.dumps({"session_id": "s1", "messages": MESSAGES}) + "\n" + json.dumps({"messages": MESSAGES}),
            ["s1", None],
        ),
        ("\ufeff" + json.dumps(MESSAGES), [None]),
    ],
)
def test_our_own_format_is_messages_or_sessions(write, content, ids):
    """A list of messages is one session; sessions keep their ids; empty ones are left out; JSON lines work too."""
    sessions = read_sessions(write(content))

    assert [session.session_id for session in sessions] == ids
    assert all(
        [message.text for message in session.messages] == ["I keep bees.", "Since when?"] for session in sessions
    )


def test_a_gzipped_file_is_unpacked_whatever_it_is_called(write):
    """The first bytes tell, not the name."""
    path = write(gzip.compress(json.dumps(MESSAGES).encode()), "talk.json")

    [session] = read_sessions(path)

    assert len(session.messages) == 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file is empty"),
        ('[{"speaker": "Ilse", "text": "I ke', "cut off at line 1"),
        ('[{"speaker": "Ilse",\n "text": "x"}', "cut off at line 2"),
        ('[{"speaker": "Ilse",\n text: "x"}]', "broken at line 2, column 2"),
        ('{"speaker": "a", "text": "b"}\n{"speaker": "a", "te', "cut off at line 2"),
        ('{\n"speaker": "a", "text": "b"}\n] tail', "broken at line 3"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", "is it binary?"),
        ("I drink café au lait.".encode("latin-1"), "saved as UTF-8"),
        (gzip.compress(json.dumps(MESSAGES).encode(), mtime=0)[:-9], "cut off or damaged"),
        (gzip.compress(b"[]" * 500, mtime=0)[:20] + b"\xff" * 30, "cut off or damaged"),
        ("[" * 100_000, "sensible depth"),
        ("1" * 5000, "sensible depth and size"),
        ("7", "expected a list of messages or"),
        ('"Hello"', "expected a list of messages or"),
        ([1, 2], "at [0] stands 1"),
        ('{"format": "langgraph-engram", "version": 1}\n{"items": 0}', "engram load FILE reads it"),
        ([MESSAGES[0], {"name": "x"}], "at [1] stands {'name': 'x'}"),
        ({"sessions": "s1"}, "expected a list at sessions"),
        ({"sessions": [{"session_id": "s1"}]}, "expected a session with a list of messages at sessions[0]"),
        ({"sessions": []}, "expected at least one message"),
        ([], "expected at least one message"),
    ],
)
def test_a_malformed_file_says_where_it_broke(write, content, problem):
    """One line: the file, what was expected, and the location."""
    path = write(content)

    with pytest.raises(UnreadableFile) as caught:
        read_sessions(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_opened_says_why(tmp_path):
    """Missing, or a folder."""
    with pytest.raises(UnreadableFile, match="No such file"):
        read_sessions(tmp_path / "none.json")
    with pytest.raises(UnreadableFile, match="Is a directory"):
        read_sessions(tmp_path)
    with pytest.raises(UnreadableFile, match="null"):
        read_sessions("a\x00b")


def test_an_invalid_message_is_named_by_its_session_and_index(write):
    """The location leads through the file."""
    path = write({"sessions": [{"messages": MESSAGES}, {"messages": [*MESSAGES, {"role": "elf", "text": "x"}]}]})

    with pytest.raises(InvalidMessages) as caught:
        read_sessions(path)

    assert f"{path}: sessions[1].messages[2]: unknown role 'elf'" in str(caught.value)


def test_an_unknown_format_or_a_needless_sample_is_refused(write):
    """Both are choices the caller can mend."""
    path = write(MESSAGES)

    with pytest.raises(InvalidInput, match="unknown format 'yaml': use one of auto, messages"):
        read_sessions(path, format="yaml")
    with pytest.raises(InvalidInput, match="a file of messages has no samples"):
        read_sessions(path, sample="conv-1")
