"""Principals whose names are easily taken for one another's stay apart, by every way in and when nobody is there."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from langgraph_sdk import Auth

from langgraph_engram.cli.main import run
from langgraph_engram.memory import Memory
from langgraph_engram.server import auth
from tests.server.conftest import PATIENCE, PRINCIPALS, asked, chat, said
from tests.server.test_mcp import calling, over_http

pytestmark = pytest.mark.timeout(600)  # servers start, and machines that run tests are busy

WAYS = ("rest", "mcp", "own", "thread", "cron", "context", "changed")
"""How a code was told: by a run, a tool, the agent, crons: on a thread, without one, with a context, changed."""
EVERY_SECOND = "* * * * * *"


def code(way, number):
    return f"zq{way}x{number}z"


def codes_in(text):
    return {(way, number) for way in (*WAYS, "item") for number in range(len(PRINCIPALS)) if code(way, number) in text}


def tell(server, number):
    """Tell all codes of a principal; return what was scheduled."""
    client, text = server.client(str(number)), {way: f"My {way} code is {code(way, number)}." for way in WAYS}
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "remember", input=said(text["rest"], session="rest"))
    client.runs.wait(thread, "agent", input=chat(text["own"]))
    client.store.put_item(("notes",), "code", {"text": code("item", number)})
    calling(over_http(server, str(number)), ("remember", {**chat(text["mcp"]), "session_id": "mcp"}))
    told = {way: said(text[way], session=way) for way in WAYS}
    crons = [
        client.crons.create_for_thread(thread, "remember", schedule=EVERY_SECOND, input=told["thread"]),
        client.crons.create("remember", schedule=EVERY_SECOND, input=told["cron"]),
        client.crons.create("remember", schedule=EVERY_SECOND, input=told["context"], context={"user_id": "eve"}),
        client.crons.create("remember", schedule="0 0 1 1 *", input=told["changed"]),
    ]
    changes = {"schedule": EVERY_SECOND, "config": {"tags": ["changed"]}, "metadata": {"owner": "eve"}}
    client.crons.update(crons[-1]["cron_id"], **changes)
    return [cron["cron_id"] for cron in crons]


def on_page(server, number):
    return codes_in(server.http(str(number)).get("/memory").text)


def seen(server, number):
    """Return the codes that a principal can see, by where."""
    client, query = server.client(str(number)), "Which codes are mine?"
    _, (answer,) = calling(over_http(server, str(number)), ("search", {"query": query, "limit": 50}))
    places = {
        "MCP": answer.content[0].text,
        "runs": json.dumps(client.runs.wait(None, "recall", input=asked(query, mode="search", limit=50))),
        "store": json.dumps(client.store.search_items(())),
        "agent": json.dumps(client.runs.wait(None, "agent", input=chat(query))),
        "threads": json.dumps([client.threads.search(limit=100), client.crons.search(limit=100)]),
    }
    return {"page": on_page(server, number), **{place: codes_in(text) for place, text in places.items()}}


def test_whoever_looks_sees_their_own_alone(guarded):
    """Also what crons wrote: they run as who made them, whole, with the tenant."""
    numbers = range(len(PRINCIPALS))
    with ThreadPoolExecutor(4) as pool:
        crons = list(pool.map(lambda number: tell(guarded, number), numbers))
    left, deadline = set(numbers), time.monotonic() + PATIENCE
    while left and time.monotonic() < deadline:
        for number in [number for number in left if len(on_page(guarded, number)) == len(WAYS)]:
            for cron in crons[number]:
                guarded.client(str(number)).crons.delete(cron)
            left.remove(number)
        time.sleep(0.5)

    with ThreadPoolExecutor(8) as pool:
        looked = list(pool.map(lambda number: seen(guarded, number), numbers))

    for number, found in zip(numbers, looked, strict=True):
        assert found["page"] == {(way, number) for way in WAYS}
        assert found["store"] == {("item", number)}
        assert {owner for codes in found.values() for _, owner in codes} == {number}


@pytest.mark.parametrize("identity", ["acme/paul", "default/acme%2Fpaul"])
async def test_of_whom_a_server_knows_a_part_nothing_is_run(identity, monkeypatch):
    """As of a cron that an older version stored: who made it cannot be told from another of that name."""
    user = SimpleNamespace(identity=identity)
    context = SimpleNamespace(user=user, permissions=[], resource="threads", action="create_run")

    with pytest.raises(Auth.exceptions.HTTPException, match="schedule it again"):
        await auth.own_threads(context, {"assistant_id": "any"})
    user.identity = "paul"
    assert await auth.own_threads(context, {"assistant_id": "any"}) == {"owner": '["default", "paul"]'}


@pytest.mark.parametrize("gone", [("acme", "paul"), ("default", "acme/paul")])
def test_who_is_forgotten_is_forgotten_alone(gone, tmp_path, capsys, monkeypatch):
    """By the command line, which names tenant and user."""
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    with Memory(tmp_path, "rules", encoder="hashing") as memory:
        for number, (tenant, user) in enumerate(PRINCIPALS):
            memory.remember(chat(f"My code is {number}.")["messages"], user_id=user, tenant=tenant)

    assert run(["forget", "--user", gone[1], "--tenant", gone[0], "--yes", "--store", str(tmp_path)]) == 0

    with Memory(tmp_path, "rules", encoder="hashing") as memory:
        left = [pair for pair in PRINCIPALS if memory.show("turns", pair[1], tenant=pair[0])]
    assert left == [pair for pair in PRINCIPALS if pair != gone]
