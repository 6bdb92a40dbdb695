"""What routes search of a memory says each thing once."""

import pytest


@pytest.mark.parametrize(
    ("reason", "purpose", "expected"),
    [
        ("", "", "Ana: I run to stay fit."),
        ("", "to stay fit", "Ana: I run to stay fit."),
        ("her knee healed", "to stay fit", "Ana: I run to stay fit. her knee healed"),
        ("", "a marathon", "Ana: I run to stay fit. a marathon"),
    ],
)
def test_a_record_is_found_by_its_reason_and_purpose_too(record, reason, purpose, expected):
    """They stand beside the content where they are not words of it."""
    assert record(0, "Ana: I run to stay fit.", reason=reason, purpose=purpose).indexed_text == expected
