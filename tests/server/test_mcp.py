"""Clients of the Model Context Protocol find three small tools, over HTTP and over standard input and output."""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from tests.server.conftest import ROOT, headers_of

pytestmark = pytest.mark.timeout(600)  # servers start, and machines that run tests are busy

TELLING = {"messages": [{"role": "user", "content": "My cat is called Miso."}], "session_id": "s1"}
ASKING = {"query": "What is my cat called?"}


@asynccontextmanager
async def over_http(server, user=None):
    """Return a connection with the token of a user."""
    async with (
        create_mcp_http_client(headers=headers_of(user)) as client,
        streamable_http_client(f"{server.url}/mcp", http_client=client) as streams,
    ):
        yield streams


def over_stdio(folder, user):
    """Start `engram mcp` and give a connection to it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ENGRAM_ENCODER": "hashing"}
    arguments = ["-m", "langgraph_engram.cli.main", "mcp", "--user", user, "--store", str(folder)]
    return stdio_client(StdioServerParameters(command=sys.executable, args=arguments, env=environment))


def calling(connection, *calls):
    """Return the tools that are shown, and what each call answers."""

    async def call():
        async with mcp.Client(connection) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(call())


def test_four_small_tools_answer_in_json(guarded):
    """What a tool takes is small, and what it answers is JSON; naming somebody else in an argument changes nothing."""
    tools, answers = calling(
        over_http(guarded, "toolsmith"), ("remember", TELLING), ("recall", ASKING), ("search", ASKING)
    )
    spoofed = {**ASKING, "user_id": "toolsmith", "tenant": "default"}
    _, (of_another,) = calling(over_http(guarded, "eve"), ("recall", spoofed))

    remembered, recalled, found = (answer.structured_content for answer in answers)
    assert tools.keys() == {"remember", "recall", "search", "profile"}
    assert tools["remember"].input_schema["properties"].keys() == {"messages", "session_id", "metadata"}
    assert tools["recall"].input_schema["properties"].keys() == {"query", "budget", "filters"}
    assert tools["search"].input_schema["properties"].keys() == {"query", "budget", "filters", "limit", "select"}
    assert all(len(json.dumps(tool.input_schema)) < 1500 for tool in tools.values())
    assert remembered == {"stored_turns": 1, "known_turns": 0, "records": 1, "pending": 0}
    assert "Miso" in recalled["answer"]
    assert "Miso" in found["evidence"][0]["text"]
    assert [json.loads(answer.content[0].text) for answer in answers] == [remembered, recalled, found]
    assert of_another.structured_content["verdict"] == "absent"
    assert "Miso" not in of_another.content[0].text


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_older_clients_are_understood(guarded, path):
    """They shake hands first, and call with plain JSON."""
    about = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    calling = {"name": "search", "arguments": {"query": "anything"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": calling}
    http = guarded.http("typist")
    http.headers["Accept"] = "application/json, text/event-stream"

    greeted = http.post(path, json=hello).json()["result"]
    answered = http.post(path, json=call).json()["result"]

    assert greeted["serverInfo"]["name"] == "langgraph-engram"
    assert answered["structuredContent"] == {"verdict": "absent", "evidence": []}


def test_each_call_names_a_user_where_the_server_knows_nobody(opened, user):
    """Without tokens, the tools take a user; without one, a call fails and says so."""
    tools, answers = calling(
        over_http(opened),
        ("remember", {**TELLING, "user_id": user}),
        ("recall", {**ASKING, "user_id": user}),
        ("recall", ASKING),
        ("recall", {**ASKING, "user_id": " "}),
    )

    assert "user_id" in tools["recall"].input_schema["required"]
    assert "Miso" in answers[1].structured_content["answer"]
    assert answers[2].is_error
    assert "user_id" in answers[2].content[0].text
    assert "no user was named" in answers[3].content[0].text


def test_a_desktop_client_has_the_same_tools(tmp_path):
    """One process serves one user, and remembers across starts; errors are reported."""
    _, first = calling(over_stdio(tmp_path, "ana"), ("remember", TELLING), ("recall", {"query": " "}))
    tools, second = calling(over_stdio(tmp_path, "ana"), ("recall", ASKING))

    assert tools.keys() == {"remember", "recall", "search", "profile"}
    assert first[0].structured_content["stored_turns"] == 1
    assert first[1].is_error
    assert "the question is empty" in first[1].content[0].text
    assert "Miso" in second[0].structured_content["answer"]
