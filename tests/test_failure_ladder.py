"""Whatever fails around it, a memory keeps what was said, says what is wrong, and does the rest once it is mended.

The model is a chat model on a real server, which misbehaves; encoder and files fail as they do in use.
"""

import socket
import subprocess
import sys
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_engram import alignment
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.embeddings.factory import LangChainEncoder
from langgraph_engram.erasure import erase
from langgraph_engram.errors import EncoderUnavailable, InvalidInput, ModelUnavailable
from langgraph_engram.llm.chat import ChatModel, ChatSettings
from langgraph_engram.memory import Memory
from tests.failing import Failing
from tests.fake_server import FakeServer, Reply

pytestmark = pytest.mark.usefixtures("model_writes_all")

SAID = [
    {"speaker": "Ana", "text": "My sister Runa lives in Oslo.", "said_at": "2023-05-08T12:00:00Z"},
    {"speaker": "Ben", "text": "I keep bees in the garden.", "said_at": "2023-05-08T12:01:00Z"},
]
SETTINGS = ChatSettings()
MOST_REQUESTS = 3 * (len(SETTINGS.structured_methods) + 1)
"""Of a batch and its two halves: each way of asking for JSON may be tried, and one repair."""

RUNGS = {
    "refuses connections": (None, "Connection refused"),
    "rate-limited": (Reply(status=429, retry_after=2, error="slow down"), "429 - slow down"),
    "rate-limited for an hour": (Reply(status=429, retry_after=3600), "429"),
    "without quota": (Reply(status=429, error="insufficient_quota"), "insufficient_quota"),
    "broken": (Reply(status=500), "500"),
    "overloaded": (Reply(status=503, retry_after=1), "503"),
    "unknown key": (Reply(status=401), "401"),
    "hanging": (Reply("never", after_seconds=60), "timed out"),
    "hanging up": (Reply(hangs_up=True), "disconnected"),
    "silent": (Reply(""), "no whole JSON value"),
    "talking nonsense": (Reply("I am sorry, what a lovely day that was!"), "no whole JSON value"),
    "talking too much": (Reply('{"records": [', finish_reason="length"), "cut off"),
    "cut off": (Reply(body='{"choices": [{"mess'), "not a chat completion"),
    "a web page": (Reply(body="<html>Bad gateway</html>"), "not a chat completion"),
    "without a choice": (Reply(body='{"choices": []}'), "not a chat completion"),
    "without choices": (Reply(body='{"choices": null}'), "not a chat completion"),
    "without a message": (Reply(body='{"choices": [{"message": null}]}'), "not a chat completion"),
    "null": (Reply(body="null"), "not a chat completion"),
    "endlessly nested": (Reply(body="[" * 100_000), "not a chat completion"),
    "an error with status 200": (Reply(body='{"error": {"message": "overloaded"}}'), "not a chat completion"),
}
"""How a server misbehaves, and the word that says so."""


@contextmanager
def misbehaving(reply):
    """Return a server that gives one reply to everything; None refuses connections."""
    if reply is not None:
        with FakeServer(otherwise=reply) as server:
            yield server.url, server.requests
        return
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: nobody else listens there meanwhile
        yield f"http://127.0.0.1:{closed.getsockname()[1]}/v1", []


def chat_at(url):
    chat = ChatOpenAI(base_url=url, api_key="any", model="fake", timeout=0.3, max_retries=0)
    return ChatModel(chat, "openai:fake", SETTINGS)


@pytest.mark.parametrize("rung", RUNGS)
def test_a_model_that_fails_costs_no_turn_and_gives_no_answer(rung, tmp_path):
    """Requests are bounded, turns kept and found; receipt and status say why; a retry with a good model finishes.

    A question raises one error with the reason: not "absent", which would be said of the memory.
    """
    reply, word = RUNGS[rung]
    with misbehaving(reply) as (url, requests), Memory(tmp_path / "s", chat_at(url), encoder="hashing") as memory:
        receipt = memory.remember(SAID, user_id="ana", session_id="s1")

        status = memory.status("ana")
        found = memory.search("Where does Runa live?", user_id="ana").evidence
        asked = len(requests)
        if not rung.startswith("talking"):
            with pytest.raises(ModelUnavailable, match="gave no answer"):
                memory.recall("Where does Runa live?", user_id="ana")

    assert (receipt.stored_turns, receipt.records, receipt.pending) == (2, 0, 2)
    assert [note for note in receipt.notes if note.startswith("extract: ") and word in note] == receipt.notes
    assert {task.step for task in status.pending} == {"extract"}
    assert sum(len(task.turn_ids) for task in status.pending) == 2
    assert all(word in task.reason for task in status.pending)
    assert any("Oslo" in passage.text for passage in found)
    assert asked <= MOST_REQUESTS
    with Memory(tmp_path / "s", "rules", encoder="hashing") as memory:
        mended = memory.retry(user_id="ana")
        assert (mended.pending, mended.notes, memory.status("ana").pending) == (0, [], [])
        assert any("Oslo" in record.content for record in memory.show("records", "ana"))
        assert memory.doctor().is_sound


@pytest.mark.parametrize("known", [[], SAID[:1]], ids=["at first", "later"])
@pytest.mark.parametrize("resent", [False, True])
def test_without_an_encoder_what_was_said_waits_in_a_checkpoint(tmp_path, known, resent):
    """The call raises, status says why, and a retry of the next process stores it once, sent again or not."""
    encoder = Failing()
    with Memory(tmp_path / "s", "rules", encoder=encoder) as memory:
        memory.remember(known, user_id="ana", session_id="s1")
        encoder.down = True
        for _ in range(2):
            with pytest.raises(EncoderUnavailable, match="weights are missing"):
                memory.remember(SAID, user_id="ana", session_id="s1")
        with pytest.raises(EncoderUnavailable):
            memory.retry(user_id="ana")
        pending = memory.status("ana").pending
        encoder.down = False
        findings = memory.doctor().findings

    assert {task.step for task in pending} == {"receive"}
    assert "weights are missing" in pending[0].reason
    assert findings == []
    with Memory(tmp_path / "s", "rules", encoder="hashing") as memory:
        if resent:
            memory.remember(SAID, user_id="ana", session_id="s1")
        memory.retry(user_id="ana")

        assert [turn.text for turn in memory.show("turns", "ana")] == [message["text"] for message in SAID]
        assert any("Oslo" in record.content for record in memory.show("records", "ana"))
        assert memory.status("ana").pending == []
        assert memory.doctor().findings == []


class Unreachable(HashingEncoder):
    """An encoder that tells nothing while it is down, not even its dimensions."""

    down = True

    def encode(self, texts):
        if self.down:
            raise EncoderUnavailable(f"no vectors for {len(texts)} texts")
        return super().encode(texts)


def test_an_empty_store_whose_encoder_tells_nothing_keeps_nothing_and_says_why(tmp_path):
    """The error is that of what was said, and the call sent again is stored once."""
    encoder = Unreachable()
    with Memory(tmp_path / "s", "rules", encoder=encoder) as memory:
        with pytest.raises(EncoderUnavailable, match=f"for {len(SAID)} texts"):
            memory.remember(SAID, user_id="ana", session_id="s1")
        assert memory.status("ana").pending == []
        encoder.down = False

        memory.remember(SAID, user_id="ana", session_id="s1")

        assert [turn.text for turn in memory.show("turns", "ana")] == [message["text"] for message in SAID]
        assert memory.status("ana").pending == []


@pytest.mark.parametrize("named", [{}, {"session_id": "s1"}])
def test_what_waits_in_a_checkpoint_is_forgotten_too(tmp_path, named):
    """Neither the task nor the checkpoint is left, and an export does not name what it does not hold."""
    encoder = Failing()
    with Memory(tmp_path / "s", "rules", encoder=encoder) as memory:
        encoder.down = True
        with pytest.raises(EncoderUnavailable):
            memory.remember(SAID, user_id="ana", session_id="s1")
        encoder.down = False
        exported = memory.export(tmp_path / "ana.jsonl", user_id="ana")

        receipt = memory.forget(user_id="ana", **named)

        assert exported.pending_tasks == 0
        assert (receipt.pending_tasks, receipt.runs, receipt.residue) == (1, 1, [])
        assert memory.retry(user_id="ana").run_id == ""
        with pytest.raises(InvalidInput):
            memory.forget(user_id="ana", session_id="s1")
    left = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert b"Runa" not in left


@pytest.mark.parametrize("way_out", ["retried there", "sent again", "forgotten"])
def test_words_in_another_checkpoint_are_not_given_up(tmp_path, way_out, caplog, monkeypatch):
    """A process without the checkpoint leaves the task, and says where the words are and what to do about them."""
    monkeypatch.setattr(erase, "BLOCK_BYTES", 100)  # what stands across two blocks is found as well
    encoder = Failing()
    with Memory(tmp_path / "s", "rules", encoder=encoder) as memory:
        encoder.down = True
        with pytest.raises(EncoderUnavailable):
            memory.remember(SAID, user_id="ana", session_id="s1")
        encoder.down = False
        there = str(tmp_path / "s" / "checkpoints.sqlite")
        with Memory(tmp_path / "s", "rules", encoder=encoder, checkpointer=InMemorySaver()) as elsewhere:
            receipt = elsewhere.retry(user_id="ana")
            again = elsewhere.retry(user_id="ana")

            assert (receipt.pending, receipt.stored_turns, again) == (2, 0, receipt)
            assert there in receipt.notes[0]
            assert "retry there, or send it again" in receipt.notes[0]
            assert there in caplog.text
            assert [task.step for task in elsewhere.status("ana").pending] == ["receive"]
            assert [finding.check for finding in elsewhere.doctor(fix=True).findings] == ["words in another checkpoint"]
            if way_out == "sent again":
                elsewhere.remember(SAID, user_id="ana", session_id="s1")
            if way_out == "forgotten":
                [residue] = elsewhere.forget(user_id="ana", session_id="s1").residue
                assert there in residue
        if way_out == "retried there":
            assert memory.retry(user_id="ana").stored_turns == 2

        said = [] if way_out == "forgotten" else [message["text"] for message in SAID]
        assert [turn.text for turn in memory.show("turns", "ana")] == said
        assert memory.status("ana").pending == []


def test_without_a_checkpoint_nothing_is_announced(tmp_path):
    """A graph without a checkpointer raises, and leaves no task for words that are nowhere."""
    encoder = Failing()
    with Memory(tmp_path / "s", "rules", encoder=encoder) as memory:
        memory.remember(SAID[:1], user_id="ana", session_id="s1")
        encoder.down = True
        request = {"user_id": "ana", "session_id": "s1", "messages": SAID}
        with pytest.raises(EncoderUnavailable):
            memory.write_graph.invoke({"request": request})

        assert memory.status("ana").pending == []


class Offline(DeterministicFakeEmbedding):
    """Embeddings of a service that cannot be reached."""

    def embed_documents(self, texts):
        raise ConnectionResetError("Connection reset by peer")


def test_an_embedding_service_that_fails_is_an_encoder_that_is_not_available():
    """An error of ours, with the service's reason."""
    with pytest.raises(EncoderUnavailable, match=r"gave no vectors: ConnectionResetError: Connection reset by peer"):
        LangChainEncoder(Offline(size=8)).encode(["a"])


READ_ONLY = """
import ctypes, os, sys
from langgraph_engram.errors import StoreError
from langgraph_engram.memory import Memory

if os.getuid() == 0:  # root may write whatever its mode, until it gives that up (CAP_DAC_OVERRIDE, capabilities(7))
    header, capabilities = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capget(header, capabilities)
    capabilities[0] &= ~2
    capabilities[1] &= ~2
    ctypes.CDLL(None).capset(header, capabilities)
for folder in sys.argv[1:]:
    said = []
    try:
        with Memory(folder, "rules", encoder="hashing") as memory:
            said.append(str(len(memory.search("Where does Runa live?", user_id="ana").evidence)))
            for user in ("ana", "ben"):
                try:
                    memory.remember([{"speaker": user, "text": "I keep bees."}], user_id=user, session_id="s2")
                except StoreError as error:
                    said.append(str(error))
    except StoreError as error:
        said.append(str(error))
    print("|".join(said))
"""


FROZEN = {
    ". .engram.lock": (None, "copy the folder to where it can, and open the copy"),
    "chroma.sqlite3": ("1", "copy the folder to where it can, and open the copy"),
    "snapshots snapshots/stamp": ("1", "copy the folder to where it can, and open the copy"),
    "checkpoints.sqlite": ("1", "checkpoints.sqlite' cannot be read or written (attempt to write a readonly"),
}
"""What of a store is read-only, how much is found, and what is said."""


@pytest.fixture(scope="module")
def said_of_frozen():
    """What a process says of a store each, of which something is read-only."""
    with TemporaryDirectory() as home:
        folders = [Path(home) / str(number) for number in range(len(FROZEN))]
        for folder, frozen in zip(folders, FROZEN, strict=True):
            with Memory(folder, "rules", encoder="hashing") as memory:
                memory.remember(SAID, user_id="ana", session_id="s1")
            for path in map(folder.joinpath, frozen.split()):
                path.chmod(0o555 if path.is_dir() else 0o444)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, *folders], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    return dict(zip(FROZEN, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("frozen", FROZEN)
def test_a_store_that_is_read_only_says_so(said_of_frozen, frozen):
    """One line that names it; what can be read is, where a search alone is asked for."""
    found, word = FROZEN[frozen]

    said = said_of_frozen[frozen].split("|")

    assert said[:-2] == ([found] if found else []), said
    assert all(word in message for message in said[-2:]), said


class SetBack(datetime):
    """A clock that is set back an hour with each look at it."""

    looks = count()

    @classmethod
    def now(cls, tz=None):
        return datetime(2024, 5, 8, 12, tzinfo=tz) - next(cls.looks) * timedelta(hours=1)


def test_a_clock_that_is_set_back_loses_no_order(tmp_path, monkeypatch):
    """Turns without a time of their own stay in the order in which they were said, and the newer statement holds."""
    monkeypatch.setattr(alignment, "datetime", SetBack)
    with Memory(tmp_path / "s", "rules", encoder="hashing") as memory:
        for home in ("Lisbon", "Porto", "Bergen"):
            said = [{"speaker": "Ana", "text": f"I moved to {home}."}]
            assert memory.remember(said, user_id="ana", session_id="s1").pending == 0

        texts = [turn.text for turn in memory.show("turns", "ana")]
        assert [text.split()[-1] for text in texts] == ["Lisbon.", "Porto.", "Bergen."]
        assert memory.search("Where did I move?", user_id="ana").evidence
        assert memory.doctor().findings == []
