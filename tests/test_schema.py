"""What routes search of a memory says each thing once."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.schema import Record


@pytest.mark.parametrize(
    ("reason", "purpose", "expected"),
    [
        ("", "", "Ana: I run to stay fit."),
        ("", "to stay fit", "Ana: I run to stay fit."),
        ("her knee healed", "to stay fit", "Ana: I run to stay fit. her knee healed"),
        ("", "a marathon", "Ana: I run to stay fit. a marathon"),
    ],
)
def test_a_record_is_found_by_its_reason_and_purpose_too(reason, purpose, expected):
    """They stand beside the content where they are not words of it."""
    record = Record.model_validate(
        {
            "record_id": "r",
            "content": "Ana: I run to stay fit.",
            "reason": reason,
            "purpose": purpose,
            "mentioned_at": datetime(2023, 5, 1, tzinfo=UTC),
            "session_id": "s",
            "seq": 0,
            "event_id": "e",
            "source_turn_ids": ["t"],
        }
    )

    assert record.indexed_text == expected
