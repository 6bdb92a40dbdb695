"""A case that DimMem works through, from messages to memory."""

from langgraph_engram.memory import Memory
from langgraph_engram.presets import changed, preset
from langgraph_engram.prompts.decide_update import UpdateVerdict, UpdateVerdicts
from langgraph_engram.prompts.extract_records import Extraction, RecordDraft
from langgraph_engram.testing import FakeModel

STARS = (
    "The user is working towards Gold status with Starbucks and wonders how many stars it takes.",
    "The user corrects that the Gold status of Starbucks takes 125 stars, and not 400.",
)
SHARED_KEYWORDS = ["Starbucks", "Gold", "stars"]


def corrected(settings):
    """Have a goal told in one session and corrected in the next; return the memory and what was asked."""
    drafts = [RecordDraft(sources=[1], content=said, keywords=SHARED_KEYWORDS) for said in STARS]
    verdict = UpdateVerdicts(verdicts=[UpdateVerdict(action="SUPERSEDE", reason="corrected")])
    model = FakeModel([Extraction(records=drafts[:1]), Extraction(records=drafts[1:]), verdict])
    memory = Memory("memory:", model, encoder="minilm", settings=settings)
    for day, said in enumerate(("How do I get to Gold at Starbucks?", "Gold takes 125 stars, not 400."), start=1):
        message = {"role": "user", "content": said, "said_at": f"2023-05-0{day}"}
        memory.remember([message], user_id="ana", session_id=f"s{day}", close_session=True)
    return memory, model.asked


def test_a_correction_takes_the_place_of_what_it_corrects():
    """DimMem Table 10: one type, shared keywords, a cosine above .7 that a threshold of .85 would miss."""
    memory, asked = corrected(preset("dimmem", "longmemeval"))
    with memory:
        old, new = sorted(memory.show("records", "ana"), key=lambda record: record.mentioned_at)
        (decision,) = memory.show("decisions", "ana")

    assert [question.name for question in asked] == ["ExtractLasting", "ExtractLasting", "DecideUpdate"]
    assert (old.status, old.superseded_by, new.status) == ("superseded", new.record_id, "active")
    assert (old.memory_type, decision.jaccard) == ("fact", 1.0)
    assert 0.7 <= decision.cosine < 0.85


def test_a_high_threshold_misses_the_correction():
    """DimMem Table 10: by meaning alone from .85, as LightMem compares, the pair is never decided on."""
    memory, asked = corrected(changed(changed(preset("dimmem"), "paper", all_pairs=True), "update", cosine=0.85))
    memory.close()

    assert [question.name for question in asked] == ["ExtractRecords", "ExtractRecords"]
