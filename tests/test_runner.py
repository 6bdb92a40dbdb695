"""What is encoded, how an answer streams word by word, what a run leaves behind, and the sum of receipts."""

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.write_answer import MORE
from langgraph_engram.runner import AnswerStream, _may_be_unknown, stream_updates
from langgraph_engram.schema import Intent, Scope
from langgraph_engram.settings import Settings, UpdateSettings
from tests.failing import Failing

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_a_message_is_encoded_in_two_calls():
    """The turn as it is stored; then records, new topics and boundaries together, none of them twice."""
    calls = []

    class Listing(HashingEncoder):
        def encode(self, texts):
            calls.append(list(texts))
            return super().encode(texts)

    with Memory("memory:", encoder=Listing(64)) as memory:
        for said in ("I bought a red kayak in Bergen.", "My sister Petra paints. She moved to Lima last May."):
            calls.clear()
            memory.remember([{"speaker": "Ana", "text": said, "said_at": NOON}], user_id="ana", session_id="s1")
        index = memory.store.index(Scope(user_id="ana"))

    turns, others = (Counter(call) for call in calls)
    topics = index.session_events("s1")[-1].topics
    records = [record.indexed_text for record in index.records.items]
    assert turns == Counter([f"Ana: {said}"])
    assert set(others.values()) == {1}
    assert {topics[-1], *records[1:]} <= others.keys()


CHUNKS = st.lists(st.sampled_from(["I", " don't", " know", ".", "I don", " live", " in Oslo", " [1]"]), max_size=8)


@given(CHUNKS)
def test_every_word_of_an_answer_is_told_or_may_be_unknown(chunks):
    """However a light answer is cut, it is told whole, or held back whole because it says that nothing is known.

    That the evidence is absent is an answer at last, which is told as it comes.
    """
    light, whole = (
        [update.text for chunk in chunks for update in answer.add(AIMessageChunk(chunk), {"langgraph_node": node})]
        for node, answer in (("judge_sufficiency", AnswerStream()), ("write_answer", AnswerStream()))
    )

    text = "".join(chunks)
    assert "".join(light) == ("" if _may_be_unknown(text) else text)
    assert whole == chunks


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30))
def test_the_mark_for_more_is_told_to_nobody(sizes):
    """However it is cut into chunks, and beside citations and brackets of the answer's own."""
    text, answer, told, begin = f"Two lakes [1][2]{MORE}, a list[0] and [mo.", AnswerStream(), "", 0
    for size in [*sizes, len(text)]:
        chunk = AIMessageChunk(text[begin : begin + size])
        told += "".join(update.text for update in answer.add(chunk, {"langgraph_node": "write_answer"}))
        begin += size

    assert told == text.replace(MORE, "")


@pytest.mark.parametrize(
    ("breadth", "chunks", "text"),
    [
        ("list", ["- a red kite [1]\n- a box", " kite [2]\nANS", "WER: Two", " kites [1][2]"], "Two kites [1][2]"),
        ("list", ["- a red kite [1]"], ""),
        ("narrow", ["- a red", " kite [1]"], "- a red kite [1]"),
    ],
)
def test_the_list_before_an_answer_of_the_whole_is_held_back(breadth, chunks, text):
    """Another answer may be a list."""
    intent = Intent(query="Kites?", anchor="Kites?", breadth=breadth)
    written = [("messages", (AIMessageChunk(chunk), {"langgraph_node": "write_answer"})) for chunk in chunks]

    updates = stream_updates(iter([("updates", {"parse_intent": {"intent": intent}}), *written]))

    assert "".join(update.text for update in updates) == text


ASKING = Settings(update=UpdateSettings(approve=["SUPERSEDE"]))
HOMES = [
    {"speaker": "Ana", "text": f"I live in {home}.", "said_at": f"2024-03-0{day}T09:00:00Z"}
    for day, home in enumerate(("Lisbon", "Porto"), start=1)
]


def steps_in(folder):
    """Return how many steps of how many runs are saved beside a store."""
    with closing(sqlite3.connect(folder / "checkpoints.sqlite")) as database:
        return database.execute("SELECT count(*), count(DISTINCT thread_id) FROM checkpoints").fetchone()


def test_a_run_that_is_finished_leaves_no_checkpoint(tmp_path):
    """Neither one that remembered nor one that recalled; one that waits for a person keeps its own until it goes on."""
    with Memory(tmp_path, "rules", encoder="hashing", settings=ASKING) as memory:
        memory.remember(HOMES[:1], user_id="ana", session_id="s1")
        memory.recall("Where does Ana live?", user_id="ana")
        list(memory.stream("Where does Ana live?", user_id="ana"))
        assert steps_in(tmp_path) == (0, 0)
        waiting = memory.remember(HOMES[1:], user_id="ana", session_id="s2")
        memory.retry(user_id="ana")
    steps, runs = steps_in(tmp_path)

    with Memory(tmp_path, "rules", encoder="hashing", settings=ASKING) as memory:
        receipt = memory.approve(waiting.run_id, "approve", user_id="ana")

        assert (steps > 1, runs, receipt.pending) == (True, 1, 0)
        assert steps_in(tmp_path) == (0, 0)
        assert [record.status for record in memory.show("records", "ana")] == ["superseded", "active"]


def test_a_checkpointer_of_ones_own_keeps_all_runs():
    """The steps of what was remembered and of what was recalled are there to be looked at."""
    saver = InMemorySaver()
    with Memory("memory:", "rules", encoder="hashing", checkpointer=saver) as memory:
        remembered = memory.remember(HOMES[:1], user_id="ana", session_id="s1")
        recalled = memory.recall("Where does Ana live?", user_id="ana")

    kept = {saved.config["configurable"]["thread_id"] for saved in saver.list(None)}
    assert kept == {remembered.run_id, recalled.run_id}


def test_what_a_process_left_that_died_at_its_end_is_deleted_by_a_retry(tmp_path, monkeypatch):
    """The run was finished, and its checkpoints were not deleted yet."""
    with monkeypatch.context() as killed, Memory(tmp_path, "rules", encoder="hashing") as memory:
        killed.setattr(SqliteSaver, "delete_thread", lambda saver, thread_id: None)
        memory.remember(HOMES[:1], user_id="ana", session_id="s1")
    assert steps_in(tmp_path)[1] == 1

    with Memory(tmp_path, "rules", encoder="hashing") as memory:
        memory.retry(user_id="ana")

    assert steps_in(tmp_path) == (0, 0)


def test_what_failed_and_was_sent_again_is_deleted_by_a_retry(tmp_path):
    """Until then each failed call has its checkpoint, from which a retry could have gone on."""
    encoder = Failing()
    encoder.down = True
    with Memory(tmp_path, "rules", encoder=encoder) as memory:
        for _ in range(3):
            with pytest.raises(EncoderUnavailable):
                memory.remember(HOMES[:1], user_id="ana", session_id="s1")
        encoder.down = False
        memory.remember(HOMES[:1], user_id="ana", session_id="s1")
        assert (memory.status("ana").pending, steps_in(tmp_path)[1]) == ([], 3)

        memory.retry(user_id="ana")

        assert steps_in(tmp_path) == (0, 0)
        assert len(memory.show("turns", "ana")) == 1


def test_the_file_of_checkpoints_shrinks(tmp_path):
    """What a large run took is given back when it is finished."""
    said = [{"speaker": "Ana", "text": f"On day {number} I planted {number} tulips. " * 20} for number in range(40)]

    with Memory(tmp_path, "rules", encoder="hashing") as memory:
        memory.remember(said, user_id="ana", session_id="s1")

    assert (tmp_path / "checkpoints.sqlite").stat().st_size < 100_000
