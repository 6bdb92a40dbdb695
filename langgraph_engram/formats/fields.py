"""Read single fields and samples of external data: text, captions, moments. Every error says what to do.

Callers add the message or the file that a value belongs to.
"""

import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from langgraph_engram.errors import InvalidInput, InvalidMessages, UnreadableFile
from langgraph_engram.temporal.datetimes import with_offset

MAX_CHARACTERS = 1_000_000
"""Text and captions of one message together; more than this is a document."""
SHOWN_CHARACTERS = 80
SHOWN_IDS = 60
EARLIEST_YEAR, LATEST_YEAR = 1000, 2999
DATE_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_text(value: object, field: str) -> str:
    """Return a string without what no store can hold: lone surrogates and NUL become U+FFFD.

    Raises:
        InvalidMessages: `value` is not a string.
    """
    if not isinstance(value, str):
        raise InvalidMessages(f"{field} must be a string, not {shown(value)}")
    valid = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return valid.replace("\x00", "\ufffd")


def read_captions(value: object) -> list[str]:
    """Read one caption or a list of captions, without blank ones.

    Raises:
        InvalidMessages: `value` is neither a string nor a list of strings.
    """
    if value is None:
        return []
    captions = [value] if isinstance(value, str) else value
    if not isinstance(captions, Sequence):
        raise InvalidMessages(f"captions must be a list of strings, not {shown(value)}")
    return [text for text in (read_text(caption, "a caption").strip() for caption in captions) if text]


def read_moment(value: object) -> datetime | None:
    """Read a moment.

    Args:
        value: ISO 8601 text, a `datetime`, or seconds since 1970. A moment without an offset is UTC; None is unknown.

    Returns:
        The moment, with its offset.

    Raises:
        InvalidMessages: It is no date, or outside the years 1000 to 2999.
    """
    if value is None:
        return None
    try:
        moment = with_offset(_parse_moment(value))
    except (ValueError, OverflowError) as error:
        raise InvalidMessages(_date_advice(value)) from error
    if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        raise InvalidMessages(_date_advice(value))
    return moment


def read_until(value: object) -> datetime | None:
    """Read the end of a period: a date without a time means the end of that day. Otherwise as `read_moment`."""
    moment = read_moment(value)
    if moment is not None and isinstance(value, str) and DATE_ONLY.fullmatch(value.strip()):
        return moment + timedelta(days=1, microseconds=-1)
    return moment


def check_size(text: str, captions: Sequence[str]) -> None:
    """Check that a message is neither empty nor too long.

    Raises:
        InvalidMessages: There is neither text nor caption, or there are over 1,000,000 characters.
    """
    if not text.strip() and not captions:
        raise InvalidMessages("the message is empty: give it text or a caption, or leave it out")
    characters = len(text) + sum(map(len, captions))
    if characters > MAX_CHARACTERS:
        raise InvalidMessages(f"{characters:,} characters are too many: split it into messages of {MAX_CHARACTERS:,}")


def listed(data: object) -> list[Mapping[str, object]]:
    """Return one sample or a list of samples as a list.

    Raises:
        UnreadableFile: It is neither, or empty.
    """
    samples = data if isinstance(data, list) else [data]
    if not samples:
        raise UnreadableFile("expected at least one sample, not an empty list")
    return [_mapping(sample, number) for number, sample in enumerate(samples)]


def choose_sample(samples: Sequence[Mapping[str, object]], id_key: str, chosen: str | None) -> Mapping[str, object]:
    """Return the sample whose `id_key` is `chosen`, or the only one.

    Raises:
        InvalidInput: There are several and none was chosen, or none has that id; the error lists the ids.
    """
    ids = [str(sample.get(id_key)) for sample in samples]
    if chosen is None and len(samples) == 1:
        return samples[0]
    if chosen in ids:
        return samples[ids.index(chosen)]
    named = ", ".join(ids[:SHOWN_IDS]) + (", ..." if len(ids) > SHOWN_IDS else "")
    if chosen is None:
        raise InvalidInput(f"the file holds {len(ids)} samples: choose one (--sample ID) of {named}")
    raise InvalidInput(f"unknown sample {chosen!r}: choose one of {named}")


def shown(value: object) -> str:
    """Return the start of a value's representation, for one line of an error."""
    text = reprlib.repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _mapping(sample: object, number: int) -> Mapping[str, object]:
    if not isinstance(sample, Mapping):
        raise UnreadableFile(f"expected an object as sample {number}, not {shown(sample)}")
    return sample


def _parse_moment(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        return datetime.fromisoformat(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(value)
    return EPOCH + timedelta(seconds=value)


def _date_advice(value: object) -> str:
    years = f"within the years {EARLIEST_YEAR} to {LATEST_YEAR}"
    return f"{shown(value)} is no possible date: use ISO 8601 (2023-05-07T13:56:00Z) or seconds since 1970, {years}"
