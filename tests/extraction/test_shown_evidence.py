"""What stands in the prompt is evidence: true records pass the gate, falsehoods about the same turns do not."""

import pytest

from langgraph_engram.extraction.evidence import verify_record
from langgraph_engram.schema import Record
from langgraph_engram.temporal.find import parse_time
from tests.conftest import make_record
from tests.extraction.shown import FALSE, TRUE, turns_of

MOST_FALSE = 2
"""Of 33 planted falsehoods."""


def verified(name: str, cited: list[int], content: str, time: str) -> Record:
    """Verify a record as if the whole conversation had been one prompt."""
    turns = turns_of(name)
    sources = [turns[position] for position in cited]
    happened = parse_time(time, None) if time else None
    when = {"event_start": happened.start, "event_end": happened.end} if happened else {}
    ids = [turn.turn_id for turn in sources]
    own = {"session_id": name, "speaker": sources[-1].speaker, "mentioned_at": None, "memory_type": None}
    record = make_record(sources[-1].seq, content, source_turn_ids=ids, **own, **when)
    return verify_record(record, sources, turns, {turn.turn_id for turn in turns})


def passes(name: str, cited: list[int], content: str, time: str) -> bool:
    """Return whether a record stands as it was written, its date included."""
    record = verified(name, cited, content, time)
    return record.status == "active" and (not time or record.event_start is not None)


def test_what_the_prompt_gives_elsewhere_is_evidence():
    """Names, numbers and dates of one sentence stand in a record that another sentence is the source of."""
    assert [claim for claim in TRUE if not passes(*claim)] == []


def test_falsehoods_do_not_pass():
    """Records of each kind that say otherwise than what was shown."""
    passed = [claim for claims in FALSE.values() for claim in claims if passes(*claim)]

    assert len(passed) <= MOST_FALSE, passed


@pytest.mark.parametrize(("content", "sources"), [(TRUE[0][2], ["games-0", "games-2"]), (TRUE[6][2], ["games-9"])])
def test_the_turn_that_gives_it_joins_the_sources(content, sources):
    """A record cites all that it rests on, and no more."""
    (claim,) = (claim for claim in TRUE if claim[2] == content)

    assert verified(*claim).source_turn_ids == sources
