"""LongMemEval's haystacks become sessions; turns keep their ids in the data set."""

import gzip
import json
from datetime import UTC, datetime

import pytest

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.files import read_sessions


def item(question_id="q1", **changes):
    """Make a small item of LongMemEval's shape, in our own words."""
    turns = [
        {"role": "user", "content": "I moved the hives.", "has_answer": True},
        {"role": "assistant", "content": "  "},
        {"role": "assistant", "content": "Where to?"},
    ]
    return {
        "question_id": question_id,
        "question": "Where are the hives?",
        "answer": "secret",
        "haystack_session_ids": ["a1", "b2", "c3"],
        "haystack_dates": ["2023/05/20 (Sat) 00:44", "2023/05/21", "2023/05/22"],
        "haystack_sessions": [turns, [{"role": "user", "content": "Hello"}], [{"role": "user", "content": ""}]],
    } | changes


@pytest.mark.parametrize("form", ["json", "jsonl", "one"])
def test_haystacks_are_read_in_every_packing(tmp_path, form):
    """A list, lines, or one item, gzipped: the same sessions."""
    packed = {"json": json.dumps([item()]), "jsonl": f"{json.dumps(item())}\n", "one": json.dumps(item())}[form]
    path = tmp_path / "haystack.gz"
    path.write_bytes(gzip.compress(packed.encode()))

    first, second = read_sessions(path)

    assert [first.session_id, second.session_id] == ["a1", "b2"]
    assert [(message.role, message.speaker, message.text, message.external_id) for message in first.messages] == [
        ("user", "user", "I moved the hives.", "a1:1"),
        ("assistant", "assistant", "Where to?", "a1:3"),
    ]
    assert first.messages[0].said_at == datetime(2023, 5, 20, 0, 44, tzinfo=UTC)
    assert second.messages[0].said_at == datetime(2023, 5, 21, tzinfo=UTC)


def test_one_of_several_items_must_be_chosen(tmp_path):
    """The question's id chooses."""
    path = tmp_path / "haystack.jsonl"
    path.write_text("\n".join(json.dumps(item(name)) for name in ("q1", "q2")))

    assert len(read_sessions(path, "longmemeval", sample="q2")) == 2
    with pytest.raises(InvalidInput, match=r"holds 2 samples: choose one .* of q1, q2"):
        read_sessions(path)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"haystack_dates": ["2023/05/20"]}, "of equal length, not 3, 1, 3"),
        ({"haystack_dates": None}, "a list haystack_dates, not None"),
        ({"haystack_dates": ["20 May", "2023/05/21", "2023/05/21"]}, "not '20 May'"),
        ({"haystack_sessions": [[], {}, []]}, "a list of turns in session b2"),
        (
            {"haystack_sessions": [[], [{"role": "owl", "content": "x"}], []]},
            "a turn with role user or assistant and content at b2:1",
        ),
    ],
)
def test_another_shape_says_where_it_broke(tmp_path, changes, problem):
    """One line with the location."""
    path = tmp_path / "haystack.json"
    path.write_text(json.dumps([item(**changes)]))

    with pytest.raises(UnreadableFile) as caught:
        read_sessions(path)

    assert problem in str(caught.value)
