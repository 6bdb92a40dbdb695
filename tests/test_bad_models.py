"""Whatever a server answers, a run ends, keeps what was said, says what it could not do, and can be mended later.

The server's good answers are those of the rules, as JSON; bad ones are made from them, whatever shape they have.
"""

import json
from collections import Counter
from dataclasses import replace

import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from langgraph_engram.llm.base import Capability
from langgraph_engram.llm.chat import ChatModel, ChatSettings
from langgraph_engram.memory import Memory
from langgraph_engram.rule_model.model import RULES
from tests.fake_server import FakeServer, Reply

pytestmark = pytest.mark.usefixtures("syntheses_at_once", "model_writes_all")

TOLD = [
    {"speaker": "Ana", "text": "My sister Runa lives in Oslo.", "said_at": "2023-05-08T12:00:00Z"},
    {"speaker": "Ben", "text": "I keep bees in the garden.", "said_at": "2023-05-08T12:01:00Z"},
    {"speaker": "Ana", "text": "I went camping by the lake yesterday.", "said_at": "2023-05-08T12:02:00Z"},
]
WHOSE = {"user_id": "ana"}


def changed(value, change, name=""):
    """Change every leaf of a JSON value by its name."""
    if isinstance(value, dict):
        return {key: changed(part, change, key) for key, part in value.items()}
    if isinstance(value, list):
        return [changed(part, change, name) for part in value]
    return change(name, value)


def answered(good, change):
    """Make a reply of a changed answer; a text is changed as it is."""
    if not good.startswith("{"):
        return Reply(change("", good))
    return Reply(json.dumps(changed(json.loads(good), change)))


def of_lists(good, change):
    """Make a reply in which every list at the top is changed."""
    if not good.startswith("{"):
        return Reply(good)
    return Reply(json.dumps({key: change(part) for key, part in json.loads(good).items()}))


def spoilt(name, value):
    return f"{value}\ud83d\x00" if isinstance(value, str) and name not in KINDS else value


def distant(name, value):
    return "9999-12-31" if isinstance(value, str) and ("time" in name or "date" in name) else value


def out_of_range(name, value):
    return value + 900 if isinstance(value, int) and not isinstance(value, bool) else value


KINDS = {"memory_type", "type", "kind", "label", "action"}
FAILING = {
    "broken off": lambda good: Reply(good[: len(good) // 2]),
    "wrong types": lambda good: of_lists(good, lambda part: "many") if good.startswith("{") else Reply(""),
}
"""Replies by which a question has no answer; test_failure_ladder.py has those that no rule's answer is in."""
ODD = {
    "empty lists": lambda good: of_lists(good, lambda part: [] if isinstance(part, list) else part),
    "fifty times": lambda good: of_lists(good, lambda part: part * 50 if isinstance(part, list) else part),
    "out of range": lambda good: answered(good, out_of_range),
    "the year 9999": lambda good: answered(good, distant),
    "half characters": lambda good: answered(good, spoilt),
    "endless": lambda good: Reply(good if good.startswith("{") else "And so on it went. " * 20_000),
}
"""Replies that are answers, and no good ones."""


class MoodyServer(FakeServer):
    """A server that gives the rules' answers, or spoils them."""

    def __init__(self):
        super().__init__()
        self.spoil = Reply
        self.known = {}

    def _choose(self, request):
        said = json.dumps([message["content"] for message in request["messages"]])
        good = next(answer for prompt, answer in self.known.items() if json.dumps(prompt)[1:-1] in said)
        return self.spoil(good)


class Asking:
    """A chat model whose server is told what the rules would answer."""

    name = "openai:fake"
    by_rules = False

    def __init__(self, server, **settings):
        chat = ChatOpenAI(base_url=server.url, api_key="any", model="fake", timeout=0.3, max_retries=0)
        self.server = server
        self.capability = Capability()
        self.chat = ChatModel(chat, self.name, ChatSettings(retries=0, **settings))

    def ask(self, question):
        return self.ask_all([question])[0]

    def ask_all(self, questions):
        for question in questions:
            answer = RULES[type(question)](question)
            good = answer.model_dump_json() if isinstance(answer, BaseModel) else answer
            self.server.known[question.render()[-1].text] = good
        return self.chat.ask_all(questions)


@pytest.fixture
def server():
    with MoodyServer() as opened:
        yield opened


@pytest.fixture
def memory(server):
    with Memory(store="memory:", encoder="hashing", model=Asking(server)) as opened:
        yield opened


@pytest.fixture(scope="module")
def whole():
    """What a server that is good from the start leaves in memory: the contents of records."""
    with MoodyServer() as server, Memory(store="memory:", encoder="hashing", model=Asking(server)) as memory:
        receipt = memory.remember(TOLD, session_id="s1", close_session=True, **WHOSE)
        assert (receipt.pending, receipt.syntheses) == (0, 1)
        yield contents(memory)


def contents(memory):
    return Counter(record.content for record in memory.show("records", "ana"))


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_pending_and_mended_by_a_retry(server, memory, whole, name):
    """Turns are kept and found, the reason is told; a retry leaves nothing pending, and nothing twice."""
    server.spoil = FAILING[name]

    receipt = memory.remember(TOLD, session_id="s1", close_session=True, **WHOSE)

    listed = memory.status("ana").pending
    assert (receipt.stored_turns, receipt.pending, receipt.records) == (3, 3, 0)
    assert {turn_id for task in listed for turn_id in task.turn_ids} == {
        turn.turn_id for turn in memory.show("turns", "ana")
    }
    assert all(task.reason and task.step for task in listed)
    assert any("Oslo" in piece.text for piece in memory.search("Where does Runa live?", **WHOSE).evidence)

    again = memory.retry(**WHOSE)
    assert (again.pending, again.stored_turns) == (3, 0)
    assert len(memory.status("ana").pending) == len(listed)
    server.spoil = Reply
    mended = memory.retry(**WHOSE)

    assert (mended.pending, mended.syntheses) == (0, 1)
    assert memory.status("ana").pending == []
    assert contents(memory) == whole
    assert memory.retry(**WHOSE).run_id == ""


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_ends_the_run_and_doubles_nothing(server, memory, whole, name):
    """What cannot be taken is left out or quarantined; turns are kept, and the next run is a good one."""
    server.spoil = ODD[name]

    receipt = memory.remember(TOLD, session_id="s1", close_session=True, **WHOSE)

    assert receipt.stored_turns == 3
    assert max(contents(memory).values(), default=1) == 1
    assert all(len(synthesis.text.split()) <= 700 for synthesis in memory.show("syntheses", "ana"))
    assert any("Oslo" in piece.text for piece in memory.search("Where does Runa live?", **WHOSE).evidence)
    server.spoil = Reply
    memory.retry(**WHOSE)
    assert memory.status("ana").pending == []
    assert memory.remember(TOLD, user_id="ben", session_id="s1").records == len(whole)


def test_a_server_that_is_bad_now_and_then_loses_nothing(server, memory, whole):
    """Every other reply fails, whatever it answers: retries come to an end, with everything there once."""
    turns = iter(range(1000))
    server.spoil = lambda good: replace(Reply(good), status=500 if next(turns) % 2 else 200)
    memory.remember(TOLD, session_id="s1", close_session=True, **WHOSE)

    for _ in range(5):
        memory.retry(**WHOSE)

    assert (contents(memory), memory.status("ana").pending) == (whole, [])
