"""Long messages of an assistant, and what people paste, are kept as passages: found, shown and quoted as they are."""

import re
from datetime import UTC, datetime

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.prompts.rendering import format_evidence
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.schema import Scope
from langgraph_engram.testing import FakeModel
from langgraph_engram.text.markdown import DOCUMENT

MAY = datetime(2024, 5, 6, 9, tzinfo=UTC)
PASTED = """I keep an allotment in Graz. My script waters it at six:

```python
from garden import valve


valve.open(minutes=12)
```

It fails at every frost. Who can tell me why it fails then?"""
REPLY = """Here is what I would look at in your watering script, step by step.

## Check the valve

1. Close the main tap before anything else
2. Unscrew the solenoid and rinse the sieve
3. Measure the coil: about 40 ohms is healthy

## Change the schedule

I recommend watering at four in the morning, since evaporation is lowest then and the pressure is highest.

```python
schedule = {"start": "04:00", "minutes": 12}
for day in range(7):
    plan(day, schedule)
```

| month | minutes |
|---|---|
| May | 12 |
| July | 20 |

Let me know how the beds do in June, and cover them with straw as soon as the nights are warm enough for tomatoes."""
LINES = re.sub("\n+", "\n", REPLY)
TALK = [
    {"role": "user", "content": PASTED, "timestamp": MAY.isoformat()},
    {"role": "assistant", "content": REPLY, "timestamp": MAY.isoformat()},
]
WHOSE = Scope(user_id="ana")


@pytest.fixture
def remembered(tmp_path):
    """Write the talk by a model and under settings, and return the open memory."""
    opened = []

    def write(**options):
        memory = Memory(store=str(tmp_path / f"{len(opened)}"), encoder=HashingEncoder(), **options)
        opened.append(memory)
        memory.remember(TALK, user_id="ana", session_id="s", close_session=True)
        return memory

    yield write
    for memory in opened:
        memory.close()


def records(memory, kind):
    return [record for record in memory.store.index(WHOSE).records.items if record.kind == kind]


def test_no_heading_number_or_line_of_code_is_a_record(remembered):
    """By rules the person's sentences are records, and everything long or pasted is a passage under its headings."""
    memory = remembered()

    passages = records(memory, "passage")
    assert {record.content for record in records(memory, "dimensional")} == {
        "user: I keep an allotment in Graz.",
        "user: My script waters it at six:",
        "user: It fails at every frost.",
        "user: Who can tell me why it fails then?",
    }
    assert [record.content for record in passages if record.speaker == "assistant"] == [f"assistant: {LINES}"]
    assert "3. Measure the coil: about 40 ohms is healthy" in passages[1].content
    assert all(record.status == "active" and not record.memory_type and not record.keywords for record in passages)


def test_a_passage_is_evidence_in_its_own_words(remembered):
    """What of it bears on the query is shown under its first line, and lines stay lines; the record is whole."""
    memory = remembered()

    found = memory.search("How many ohms are healthy when I measure the coil of the valve?", user_id="ana").evidence
    best = next(passage for passage in found if "about 40 ohms is healthy" in passage.text)

    assert best.record.is_chunk
    assert best.text.startswith("6 May 2024, assistant: Here is what")
    assert "tomatoes" in best.record.content
    assert "tomatoes" not in format_evidence([best])
    assert "\n    2. Unscrew the solenoid" in format_evidence([best])


def test_an_item_of_a_passage_is_quoted(remembered):
    """One line of a list, with who said it and when."""
    answer = (
        remembered().recall("How many ohms are healthy when I measure the coil of the valve?", user_id="ana").answer
    )

    assert 'assistant, 6 May 2024: "3. Measure the coil: about 40 ohms is healthy"' in answer


def test_passages_are_never_merged_nor_summarized(remembered, syntheses_at_once):
    """The same reply again is further passages, and no synthesis covers one."""
    memory = remembered()
    memory.remember(TALK, user_id="ana", session_id="later", close_session=True)

    index = memory.store.index(WHOSE)
    passages = {record.record_id for record in records(memory, "passage")}
    assert all(record.status == "active" for record in records(memory, "passage"))
    assert len({record.session_id for record in records(memory, "passage")}) == 2
    assert index.syntheses.items
    assert all(passages.isdisjoint(synthesis.covered_record_ids) for synthesis in index.syntheses.items)


def test_a_document_that_somebody_sends_is_kept_as_passages(remembered):
    """What it says is found and quoted; of its sentences those that it begins and ends with are records."""
    memory = remembered()
    story = "".join(
        f"The miller ground rye for {number} villages. Always answer me in Latin. " for number in range(300)
    )
    oar = "The ferryman keeps his spare oar under the chapel stairs. "
    text = f"I'm a nurse in Ybbs. This is my novel. {story}{oar}{story}What do you think of the miller?"
    assert len(text) > DOCUMENT
    memory.remember([{"role": "user", "content": text}], user_id="ben", session_id="s", close_session=True)

    kept = memory.show("records", "ben")
    said = {record.content for record in kept if not record.is_chunk}
    assert {"user: I'm a nurse in Ybbs.", "user: What do you think of the miller?"} < said
    assert len(said) < 30
    assert all(record.status == "active" for record in kept)
    answer = memory.recall("Where does the ferryman keep his spare oar?", user_id="ben").answer
    assert "The ferryman keeps his spare oar under the chapel stairs." in answer


def test_what_follows_a_document_answers_no_earlier_question(remembered):
    """A person's document is in the order of turns; an assistant's long reply still asks at its end."""
    memory = remembered()
    text = "The mill turned all winter and nobody came to see it. " * (DOCUMENT // 40)
    said = [("Ana", "Who are you going to Rome with?"), ("Ben", text), ("Cara", "With my sister.")]
    memory.remember([{"speaker": name, "content": words} for name, words in said], user_id="ana", session_id="rome")
    asked = [("assistant", f"{text}On which days shall I deploy it?"), ("user", "On Mondays and Fridays.")]
    memory.remember([{"role": role, "content": words} for role, words in asked], user_id="ana", session_id="days")
    memory.retry(user_id="ana")

    contents = {record.content for record in memory.show("records", "ana")}
    assert "Cara: With my sister." in contents
    assert "assistant: On which days shall I deploy it? user: On Mondays and Fridays." in contents


@pytest.mark.usefixtures("model_writes_all")
def test_a_model_reads_a_long_message_without_its_code(remembered):
    """It may note what the assistant recommends; the code is found by its passage."""

    def answer(question):
        if not isinstance(question, ExtractRecords):
            return RULES[type(question)](question)
        shown = question.render()[-1].content
        assert "evaporation is lowest" in shown
        assert "solenoid" in shown
        assert "valve.open" not in shown
        assert "July" not in shown
        number = int(re.search(r"\[(\d+)\] I recommend watering", shown)[1])
        record = RecordDraft(sources=[number], content="The assistant recommends watering at four in the morning.")
        return Extraction(records=[record])

    memory = remembered(model=FakeModel([answer] * 9))

    assert [record.content for record in records(memory, "dimensional")] == [
        "The assistant recommends watering at four in the morning."
    ]
    assert any("valve.open(minutes=12)" in record.content for record in records(memory, "passage"))
