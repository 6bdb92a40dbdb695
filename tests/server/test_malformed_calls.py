"""Malformed requests over HTTP and the Model Context Protocol get a 4xx or one line, and write nothing."""

import pytest

from tests.server.test_mcp import calling, over_http

pytestmark = pytest.mark.timeout(600)  # servers start, and machines that run tests are busy

GOOD = {"role": "user", "text": "I live in Lisbon."}
REMEMBER = [
    {},
    {"request": "x"},
    {"request": {"messages": [GOOD, {"role": "wizard", "text": "x"}]}},
    {"request": {"messages": [GOOD], "metadata": {"a": []}}},
    {"request": {"messages": [GOOD | {"said_at": "soon"}]}},
    {"request": {"messages": [GOOD], "colour": "red"}},
]
RECALL = [
    {"request": {}},
    {"request": {"query": ""}},
    {"request": {"query": "x", "budget": 0}},
    {"request": {"query": "x", "filters": {"sesion": "s"}}},
    {"request": {"query": "x", "as_of": "soon"}},
]
RAW = [
    ("POST", "/runs/wait", b"{"),
    ("POST", "/runs/wait", b"[]"),
    ("POST", "/runs/wait", b'{"assistant_id": "zebra", "input": {}}'),
    ("POST", "/runs/wait", b'{"input": {}}'),
    ("GET", "/threads/not-an-id/state", b""),
    ("POST", "/threads/search", b'{"limit": "many"}'),
    ("GET", "/memory/records/r0", b""),
    ("GET", "/no/such/route", b""),
    ("POST", "/mcp", b"{"),
    ("POST", "/mcp", b'{"jsonrpc": "2.0", "id": 1}'),
    ("PUT", "/store/items", b'{"namespace": "x"}'),
]
TOOLS = [
    ("remember", {}),
    ("remember", {"messages": [{"content": "I ski."}, {"role": "wizard", "content": "x"}]}),
    ("remember", {"messages": [{"content": "I ski.", "said_at": "soon"}]}),
    ("recall", {"query": " "}),
    ("recall", {"query": "x", "filters": {"sesion": "s"}}),
    ("search", {"query": "x", "limit": 0}),
    ("zebra", {}),
]


def stored(guarded, user):
    """Return how many turns a user has, as an MCP client finds them."""
    found = guarded.http(user).get("/memory", params={"user": user})
    assert found.status_code == 200
    return found.text.count("I live in Lisbon") + found.text.count("I ski.")


@pytest.mark.parametrize(
    ("graph", "sent"),
    [*(("remember", sent) for sent in REMEMBER), *(("recall", sent) for sent in RECALL)],
    ids=lambda part: part if isinstance(part, str) else str(part)[:60],
)
def test_a_malformed_input_of_a_graph_is_refused(guarded, graph, sent):
    """Before a run begins, with what is wrong in one line."""
    answer = guarded.http("typist").post("/runs/wait", json={"assistant_id": graph, "input": sent})

    assert 400 <= answer.status_code < 500, answer.text
    assert "Traceback" not in answer.text
    assert 10 < len(answer.json()["detail"]) < 600
    assert "\n" not in answer.json()["detail"]


@pytest.mark.parametrize(("method", "path", "body"), RAW, ids=[f"{method} {path}" for method, path, _ in RAW])
def test_a_malformed_request_is_refused(guarded, method, path, body):
    """With a 4xx, and no traceback."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

    answer = guarded.http("typist").request(method, path, content=body, headers=headers)

    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(("tool", "arguments"), TOOLS, ids=[f"{tool} {str(sent)[:50]}" for tool, sent in TOOLS])
def test_a_malformed_call_of_a_tool_is_told_in_one_line(guarded, tool, arguments):
    """As an error of the tool, which a model can read."""
    _, (answer,) = calling(over_http(guarded, "typist"), (tool, arguments))

    assert answer.is_error
    assert "\n" not in answer.content[0].text
    assert 5 < len(answer.content[0].text) < 600


def test_nothing_of_it_was_written(guarded):
    """Not even the good message before a bad one; one that comes alone is."""
    guarded.client("sender").runs.wait(None, "remember", input={"request": {"messages": [GOOD]}})

    assert stored(guarded, "typist") == 0
    assert stored(guarded, "sender") > 0
