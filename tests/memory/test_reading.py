"""Memory can be read as of an earlier time, within a budget, and as a stream."""

import asyncio
from datetime import UTC, datetime

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from langgraph_engram.errors import StoreError
from langgraph_engram.memory import Memory
from langgraph_engram.presets import PRESETS, preset
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.results import count_tokens
from langgraph_engram.settings import DeepSettings

MAY, JUNE, JULY = (datetime(2023, month, 8, 12, tzinfo=UTC) for month in (5, 6, 7))
HOMES = [("s1", MAY, "I live in Oslo, near the harbour."), ("s2", JULY, "I moved to Bergen and I live in Bergen now.")]


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    """Ana lived in Oslo in May and in Bergen in July."""
    with Memory(tmp_path_factory.mktemp("reading") / "store", "rules", encoder="hashing") as opened:
        for session, said_at, text in HOMES:
            turn = {"speaker": "Ana", "text": text, "said_at": said_at}
            opened.remember([turn], user_id="ana", session_id=session, close_session=True)
        yield opened


def test_a_recall_says_how_long_each_step_took(memory):
    """The steps of the graph that it went through; a search has none to tell."""
    recollection = memory.recall("Where does Ana live?", user_id="ana")

    assert {"parse_intent", "light_retrieve", "judge_sufficiency", "conclude"} <= recollection.step_seconds.keys()
    assert all(seconds > 0 for seconds in recollection.step_seconds.values())
    assert memory.search("Where does Ana live?", user_id="ana").step_seconds == {}


def test_a_later_word_is_not_there_yet(memory):
    """As of June, Ana lives in Oslo, though that was superseded in July; today she lives in Bergen."""
    then = memory.search("Where does Ana live?", user_id="ana", as_of=JUNE)
    now = memory.search("Where does Ana live?", user_id="ana")

    assert "Oslo" in then.evidence[0].text
    assert not any("Bergen" in passage.text for passage in then.evidence)
    assert "Bergen" in now.evidence[0].text


def test_before_the_first_word_nothing_is_there(memory):
    """What was not said yet is absent, and a note says so; what was said at the very moment was said by then."""
    recollection = memory.recall("Where does Ana live?", user_id="ana", as_of=datetime(2022, 1, 1, tzinfo=UTC))

    assert (recollection.verdict, recollection.evidence) == ("absent", [])
    assert recollection.notes == ["nothing that was said by 2022-01-01 is remembered for user ana"]
    assert memory.search("Where does Ana live?", user_id="ana", as_of=MAY).evidence


def test_relative_times_count_from_the_moment(memory):
    """Unless `now` says otherwise, "last month" is the month before the moment that memory is read at."""
    then = memory.search("What did Ana say last month?", user_id="ana", as_of=JUNE)

    assert "Oslo" in then.evidence[0].text


@pytest.mark.parametrize("moment", ["2023-06-08T12:00:00Z", "2023-06-08T14:00+02:00", "2023-05-08"])
def test_a_moment_may_be_text(memory, moment):
    """ISO 8601 does as well as a datetime; a day alone is meant to its end."""
    recollection = memory.recall("Where does Ana live?", user_id="ana", as_of=moment)

    assert "Oslo" in recollection.answer.splitlines()[0]


@pytest.mark.parametrize("query", ["Where does Ana live?", "Which university did Tomas study at?"])
def test_each_step_is_streamed_and_the_result_comes_last(memory, query):
    """Rules write at once: before the result, which `recall` would have given too, the whole answer is one text."""
    updates = list(memory.stream(query, user_id="ana"))

    assert [update.step for update in updates[:2]] == ["parse_intent", "light_retrieve"]
    assert updates[-1].step == "conclude"
    assert updates[-1].recollection.answer == memory.recall(query, user_id="ana").answer
    assert [update.recollection for update in updates[:-1]] == [None] * (len(updates) - 1)
    assert [update.text for update in updates if update.text] == [updates[-1].recollection.answer] == [updates[-2].text]


def test_a_stream_has_an_async_method(memory):
    """It yields the same, and one that is closed early ends."""

    async def listen(most):
        received = []
        updates = memory.astream("Where does Ana live?", user_id="ana")
        async for update in updates:
            received.append(update)
            if len(received) == most:
                break
        await updates.aclose()
        return received

    whole, begun = asyncio.run(listen(100)), asyncio.run(listen(2))

    steps = [update.step for update in memory.stream("Where does Ana live?", user_id="ana")]
    assert [update.step for update in whole] == steps
    assert [update.step for update in begun] == steps[:2]
    assert whole[-1].recollection.answer == memory.recall("Where does Ana live?", user_id="ana").answer
    assert asyncio.run(memory.arecall("Where does Ana live?", user_id="ana")).answer == whole[-1].recollection.answer
    assert asyncio.run(memory.asearch("Oslo", user_id="ana")).evidence == memory.search("Oslo", user_id="ana").evidence
    assert asyncio.run(memory.astatus("ana")) == memory.status("ana")
    assert asyncio.run(memory.ashow("turns", "ana")) == memory.show("turns", "ana")


@pytest.mark.parametrize(
    ("sufficiency", "replies", "step"),
    [
        ("judged", ["In Oslo [1]."], "judge_sufficiency"),
        ("judged", [UNKNOWN, '{"numbers": [1]}', "In Oslo [1]."], "write_answer"),
        ("judged", [UNKNOWN, '{"numbers": [1]}', UNKNOWN], "write_answer"),
        ("always", ["She lives in Oslo [1]."], "write_answer"),
    ],
)
def test_an_answer_streams_word_by_word_and_nothing_else_does(tmp_path, sufficiency, replies, step):
    """What light memory answers is streamed at once; that it does not suffice is no answer, nor is any JSON."""
    chat = GenericFakeChatModel(messages=iter([AIMessage(reply) for reply in replies]))
    settings = preset("engram").model_copy(update={"deep": DeepSettings(sufficiency=sufficiency, reflect=False)})
    where = tmp_path / "store"
    with Memory(where, "rules", encoder="hashing") as opened:
        opened.remember([{"speaker": "Ana", "text": "I live in Oslo."}], user_id="ana", session_id="s1")

    with Memory(where, chat, encoder="hashing", settings=settings) as opened:
        updates = list(opened.stream("Where does Ana live?", user_id="ana"))

    chunks = [update for update in updates if update.text]
    assert {update.step for update in chunks} == {step}
    assert "".join(update.text for update in chunks) == updates[-1].recollection.answer == replies[-1]
    assert len(chunks) > 1


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("query", ["Where does Ana live?", "Which boats did Ana sail, and with whom?"])
def test_a_recall_keeps_within_its_budget(tmp_path, name, query):
    """However deep it goes, and over all its rounds, the evidence of a result fits the budget that was asked for."""
    said = [{"speaker": "Ana", "text": f"I sailed boat number {number} with my friend Ben."} for number in range(30)]
    with Memory(tmp_path / "store", "rules", name, encoder="hashing") as opened:
        opened.remember(said, user_id="ana", session_id="s1", close_session=True)

        recollection = opened.recall(query, user_id="ana", budget=60)

    assert sum(count_tokens(passage.text) for passage in recollection.evidence) <= 60


@pytest.mark.parametrize("ask", ["search", "recall"])
def test_a_budget_below_every_passage_is_noted(memory, ask):
    """What was found and does not fit is not absent: a note says what the smallest passage takes."""
    recollection = getattr(memory, ask)("Where does Ana live?", user_id="ana", budget=1)

    assert (recollection.verdict, recollection.evidence) == ("absent", [])
    (note,) = [note for note in recollection.notes if "budget" in note]
    least = int(note.split()[-1])
    assert note == f"no passage fits the budget of 1 tokens: the smallest takes {least}"
    assert getattr(memory, ask)("Where does Ana live?", user_id="ana", budget=least).evidence
    assert not getattr(memory, ask)("Where does Ana live?", user_id="ana", budget=least - 1).evidence


@pytest.mark.parametrize("ask", ["search", "recall"])
def test_a_question_too_long_to_be_read_is_noted(memory, ask):
    """Of 900 times the same question the beginning is read, to the end of a word, and a note says how much that is."""
    recollection = getattr(memory, ask)("Where does Jonas live? " * 900, user_id="ana")

    assert recollection.query.endswith("Where does")
    assert recollection.notes[0] == "only the first 19,997 of the question's 20,699 characters were read"
    assert recollection.missing in ([], ["jonas"])


def test_a_memory_is_an_asynchronous_context():
    """It is open inside, and closed after it."""

    async def visit():
        async with Memory("memory:", "rules", encoder="hashing") as opened:
            receipt = await opened.aremember([{"role": "user", "content": "I live in Oslo."}], user_id="ana")
        await opened.aclose()
        return opened, receipt

    opened, receipt = asyncio.run(visit())

    assert receipt.stored_turns == 1
    with pytest.raises(StoreError, match="closed"):
        opened.status("ana")
