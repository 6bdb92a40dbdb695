"""A synthesis is written when it is due, goes back to history alone, and is written anew when it is stale."""

from datetime import timedelta

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.synthesize import Synthesize
from langgraph_engram.papers.structmem import WindowScheduler
from langgraph_engram.schema import Synthesis
from langgraph_engram.settings import SynthesisSettings
from langgraph_engram.summarization.scheduling import changed_syntheses
from langgraph_engram.summarization.writing import NO_HISTORY, History, shorten
from langgraph_engram.testing import FakeModel


@pytest.fixture
def synthesize(store, scope, to_remember, turn):
    """Run the node for session s1; return what was asked, its update and the syntheses stored after it."""

    def run(answers=("A story.",), history=NO_HISTORY, **chosen):
        model = FakeModel(answers)
        state = {"request": to_remember(), "session_ids": ["s1"], "tasks": [], "run_id": "run"}
        settings = SynthesisSettings(**chosen)
        update = Synthesize(store, model, settings, WindowScheduler(settings), history)(state)
        return model.asked, update, store.index(scope).syntheses.items

    return run


@pytest.fixture
def near(record):
    """Two records of one event, a minute apart."""
    return [record(0, "Ana camps."), record(1, "Ana swims.")]


def telling(*records):
    """Make a synthesis that covers records."""
    return Synthesis(synthesis_id="told", text="Told.", covered_record_ids=[found.record_id for found in records])


@pytest.mark.parametrize(("seeds", "history"), [(1, ["seed"]), (15, ["seed", "beside"])])
def test_seeds_come_from_history(keep, near, record, event, synthesize, seeds, history):
    """What is mentioned later, or stands in the buffer itself, is no history."""
    day = timedelta(days=1)
    first = near[0].mentioned_at
    before = [
        record(5, "Ana camps.", record_id="seed", session_id="s0", event_id="old", mentioned_at=first - day),
        record(6, "Bees hum.", record_id="beside", session_id="s0", event_id="old", mentioned_at=first - day),
        record(7, "Ana camps.", record_id="future", session_id="s2", event_id="new", mentioned_at=first + day),
        record(8, "Ana camps.", record_id="gone", session_id="s0", event_id="old2", mentioned_at=first - day,
               status="superseded"),
    ]  # fmt: skip
    keep(records=[*near, *before], events=[event(0, 0, 1, status="closed")], syntheses=[telling(*before)])

    asked, _, (_, kept) = synthesize(history=History(seeds))

    assert [record.record_id for record in asked[0].seeds] == history
    assert kept.seed_event_ids == ["old"]


def test_seeds_bring_the_records_of_their_utterance(keep, near, record, event, synthesize):
    """What has the same timestamp as a seed, fact or relation, and no more of its buffer (StructMem Eq. 4)."""
    day = timedelta(days=1)
    before = {"session_id": "s0", "event_id": "old", "mentioned_at": near[0].mentioned_at - day}
    records = [
        record(5, "Ana camps.", record_id="seed", **before),
        record(5, "Ben envies Ana.", record_id="relation", part=1, kind="relational", **before),
        record(6, "Bees hum.", record_id="beside", **before),
    ]
    keep(records=[*near, *records], events=[event(0, 0, 1, status="closed")], syntheses=[telling(*records)])

    asked, _, _ = synthesize(history=History(1))

    assert [record.record_id for record in asked[0].seeds] == ["seed", "relation"]


def test_the_paper_seeds_from_the_joined_texts(keep, near, record, event, synthesize):
    """One text of all entries is encoded, and not each of them (StructMem section 2.2)."""
    old = record(5, "Ana camps.", record_id="seed", session_id="s0", mentioned_at=near[0].mentioned_at - timedelta(1))
    keep(records=[*near, old], events=[event(0, 0, 1, status="closed")], syntheses=[telling(old)])
    encoded = []

    class Watched(HashingEncoder):
        def encode(self, texts):
            encoded.extend(texts)
            return super().encode(texts)

    asked, _, _ = synthesize(history=History(1, Watched()))

    assert encoded == [" ".join(told.content for told in near)]
    assert [found.record_id for found in asked[0].seeds] == ["seed"]


def test_a_stale_synthesis_is_written_anew(keep, near, record, synthesize):
    """In a run about any session: what replaced a covered record is summarized in its place, under the same id.

    What has nothing left to cover stays stale, and is not found.
    """
    elsewhere = [found.model_copy(update={"session_id": "s9"}) for found in near]
    changed = elsewhere[0].model_copy(update={"status": "superseded", "superseded_by": "r2"})
    later = record(2, "Ana no longer camps.", session_id="s2")
    keep(
        records=[changed, elsewhere[1], later, record(5, status="archived", session_id="s0")],
        syntheses=[
            Synthesis(synthesis_id="y0", text="Old.", covered_record_ids=["r0", "r1"], status="stale"),
            Synthesis(synthesis_id="y1", text="Gone.", covered_record_ids=["r5"], status="stale"),
        ],
    )

    (asked,), update, (written, gone) = synthesize(["New."])

    assert {record.record_id for record in asked.buffer} == {"r1", "r2"}
    assert (gone.text, gone.status) == ("Gone.", "stale")
    assert (written.synthesis_id, written.text, written.status) == ("y0", "New.", "active")
    assert set(written.covered_record_ids) == {"r0", "r1", "r2"}
    assert update["synthesis_ids"] == ["y0"]


@pytest.mark.parametrize(
    ("answer", "reason"), [(Failure("timeout", "late"), "late"), (" ", "the model wrote an empty text")]
)
def test_a_failure_is_noted_and_loses_nothing(store, scope, keep, turn, near, event, synthesize, answer, reason):
    """What could not be written is pending on the turns under the buffer, and due again."""
    keep(turns=[turn(0), turn(1)], records=near, events=[event(0, 0, 1, status="closed")])

    _, update, kept = synthesize([answer])

    (task,) = store.pending_tasks(scope)
    assert (update["synthesis_ids"], kept) == ([], [])
    assert (task.step, task.turn_ids, task.reason) == ("synthesize", ["t0", "t1"], reason)
    assert len(synthesize()[2]) == 1


def test_relations_are_summarized_too(keep, near, record, event, synthesize):
    """StructMem's relational entries stand in the buffer beside facts; what is quarantined does not."""
    relation = record(0, "Ana trusts Ben.", record_id="x", kind="relational", memory_type=None, part=1)
    bad = record(1, "Ana is 900.", record_id="q", status="quarantined")
    keep(records=[*near, relation, bad], events=[event(0, 0, 1, status="closed")])

    asked, _, _ = synthesize()

    assert [record.record_id for record in asked[0].buffer] == ["r0", "x", "r1"]


def test_the_paper_summarizes_each_window_of_time(keep, record, event, synthesize):
    """Three hours are not one story: each full hour has its own, the last at the close (StructMem 2.2)."""
    start = record(0).mentioned_at
    records = [record(seq, mentioned_at=start + timedelta(minutes=30 * seq)) for seq in range(7)]
    keep(records=records, events=[event(0, *range(7))])

    _, _, kept = synthesize(["One.", "Two.", "Three."])
    keep(events=[event(0, *range(7), status="closed")])
    _, _, closed = synthesize(["Four."])

    assert [synthesis.covered_record_ids for synthesis in kept] == [["r0", "r1", "r2"], ["r3", "r4", "r5"]]
    assert [synthesis.covered_record_ids for synthesis in closed[2:]] == [["r6"]]


def test_a_window_of_time_goes_on_over_sessions(keep, record, event, synthesize):
    """Entries add up since the last consolidation (StructMem 2.2); that a session has given way ends no window."""
    start = record(0).mentioned_at
    places = [("s0", 0), ("s1", 30), ("s1", 90)]
    records = [
        record(seq, session_id=name, mentioned_at=start + timedelta(minutes=minute))
        for seq, (name, minute) in enumerate(places)
    ]
    before = event(0, 0, session_id="s0", status="closed", started_at=start)
    now = event(1, 1, started_at=start + timedelta(minutes=30))
    keep(records=records[:2], events=[before, now])

    _, _, waiting = synthesize()
    keep(records=records)
    _, _, kept = synthesize()

    assert waiting == []
    assert [synthesis.covered_record_ids for synthesis in kept] == [["r0", "r1"]]


@pytest.mark.parametrize(("text", "words"), [("", 0), ("  \n", 0), ("Fine. " * 100, 100), ("Well done. " * 1000, 700)])
def test_a_text_that_runs_on_is_shortened(text, words):
    """Whole sentences, at most twice what was asked for; nothing comes of nothing."""
    kept = shorten(text, 700)

    assert len(kept.split()) == words
    assert not kept or kept.endswith(".")


def test_what_changed_while_it_was_written_is_stale_at_once(store, scope, keep, near, event, synthesize):
    """A record that another run superseded meanwhile makes the new synthesis stale, so that it is written again."""
    keep(records=near, events=[event(0, 0, 1, status="closed")])

    def supersede(question):
        keep(changed=[near[0].model_copy(update={"status": "superseded"})])
        return "Ana camps, and swims."

    _, _, (written,) = synthesize([supersede])
    _, _, (again,) = synthesize(["Another story."])

    assert written.status == "stale"
    assert (again.text, again.status) == ("Another story.", "active")


def test_what_another_run_covered_meanwhile_is_not_written_twice(keep, near, event, synthesize):
    """Coverage is checked again before a text is stored."""
    keep(records=near, events=[event(0, 0, 1, status="closed")])

    def outrun(question):
        keep(syntheses=[Synthesis(synthesis_id="other", text="First.", covered_record_ids=["r0", "r1"])])
        return "Second."

    _, _, kept = synthesize([outrun])

    assert [synthesis.text for synthesis in kept] == ["First."]


def test_a_change_makes_a_narrative_stale_and_a_note_cover_more(store, scope, keep, near):
    """A narrative is told anew; a note tells of a day, and covers what its records were merged into."""
    keep(
        records=near,
        syntheses=[
            Synthesis(synthesis_id="y0", text="In May Ana camps.", covered_record_ids=["r0", "r1"]),
            Synthesis(synthesis_id="y1", text="In May Ana swims.", covered_record_ids=["r1"]),
            Synthesis(synthesis_id="y2", text="Camping.", session_id="s1", covered_record_ids=["r0"]),
        ],
    )
    gone = near[0].model_copy(update={"status": "superseded"})
    made = near[0].model_copy(update={"record_id": "made", "derived_from": ["r0", "old"]})
    merged = near[0].model_copy(update={"status": "merged", "superseded_by": "made"})

    found = changed_syntheses(store.index(scope), [gone])
    told, noted = changed_syntheses(store.index(scope), [made, merged])

    assert [(synthesis.synthesis_id, synthesis.status) for synthesis in found] == [("y0", "stale")]
    assert (told.synthesis_id, told.status) == ("y0", "stale")
    assert (noted.status, noted.covered_record_ids) == ("active", ["r0", "made"])
    assert changed_syntheses(store.index(scope), []) == []
