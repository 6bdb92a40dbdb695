"""Whatever is sent to a route of the server: no status 500, and an answer within five seconds.

Schemathesis makes the requests, from an OpenAPI description. LangGraph's server pins another version of a package that
it needs, so that it is a command of its own (`pipx install schemathesis`).
"""

import json
import os
import re
import shutil
import subprocess

import httpx
import pytest

from lab.tests.campaigns.load import ENGRAM, HOST, free_port, process
from langgraph_engram.server.inspector.pages import PAGES
from langgraph_engram.server.inspector.visit import BASE

SECONDS, CASES = 5, 10_000
TOKENS = {"token-of-ana": "ana", "token-of-eve": "eve"}
HEADERS = {"Authorization": "Bearer token-of-ana"}
TEXT = {"type": "string"}
QUERY = "all done kind mode notice page query record run session status text".split()
FORM = "approve content form_token mode query record run session token".split()
NOT_LANGGRAPHS = ("/mcp", BASE, "/deploy", "/internal", "/ui/")
"""Paths of ours, those that are not served, and the pages of a user interface, of which there are none."""
KNOWN = ("DELETE /threads/{thread_id}",)
"""LangGraph's own failures: a thread that is not there (langgraph-runtime-inmem 0.36)."""
AN_ID = {"anyOf": [{"type": "string", "format": "uuid"}, TEXT]}
TOOLS = {"enum": ["search_memory", "save_memory", "recall", "remember", "x"]}
CALL = {
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": {"enum": ["2.0"]},
        "id": {},
        "method": {"enum": ["initialize", "ping", "tools/list", "tools/call", "resources/list", "x"]},
        "params": {"type": "object", "properties": {"name": TOOLS, "arguments": {"type": "object"}}},
    },
}


def described():
    """Return an OpenAPI description of our own routes."""
    answer = {"responses": {"200": {"description": "an answer"}}}
    kinds = {"in": "header", "name": "accept", "schema": {"enum": ["application/json, text/event-stream", "x"]}}
    called = {"requestBody": {"content": {"application/json": {"schema": CALL}}}}
    paths = {"/mcp": {"post": {**answer, **called, "parameters": [kinds]}, "get": answer}}
    for method, path, _ in PAGES:
        names = re.findall(r"{(\w+)}", path)
        parameters = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
        parameters += [{"name": name, "in": "query", "schema": TEXT} for name in QUERY]
        page = {**answer, "parameters": parameters}
        if method == "POST":
            form = {"type": "object", "properties": dict.fromkeys(FORM, TEXT)}
            page["requestBody"] = {"content": {"application/x-www-form-urlencoded": {"schema": form}}}
        paths.setdefault(BASE + path, {})[method.lower()] = page
    return {"openapi": "3.1.0", "info": {"title": "ours", "version": "1"}, "paths": paths}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The URL of `engram serve` with tokens."""
    folder = tmp_path_factory.mktemp("served")
    url = f"http://{HOST}:{(port := free_port())}"
    own = {"ENGRAM_STORE": str(folder / "data"), "ENGRAM_ENCODER": "hashing", "ENGRAM_TOKENS": json.dumps(TOKENS)}
    with process([*ENGRAM, "serve", "--port", str(port)], f"{url}/ok", os.environ | own, folder / "log.txt"):
        yield url


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("whose", ["ours", "LangGraph's"])
def test_no_request_breaks_a_route(served, tmp_path, whose):
    """Ours have no failure at all; LangGraph's own have those that are known of it."""
    command = shutil.which("schemathesis")
    if command is None:
        pytest.skip("there is no command schemathesis: pipx install schemathesis")
    schema = described() if whose == "ours" else _of_langgraph(served)
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    each = CASES // sum(len(item) for item in schema["paths"].values()) + 1
    header = f"Authorization: {HEADERS['Authorization']}"
    checks = ["--checks", "not_a_server_error", "--request-timeout", str(SECONDS), "--continue-on-failure"]
    amount = ["--max-examples", str(each), "--phases", "coverage,fuzzing", "--workers", "1", "--no-shrink"]
    quiet = ["--warnings", "off", "--suppress-health-check", "all"]
    sent = [tmp_path / "schema.json", "--url", served, "--header", header, *checks, *amount, *quiet]
    done = subprocess.run([command, "run", *sent], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert re.search(r"[\d,]+ generated", done.stdout), done.stdout + done.stderr
    failed = {line.strip("_ ") for line in done.stdout.splitlines() if re.fullmatch(r"_+ [A-Z]+ /\S* _+", line)}
    assert failed <= ({*KNOWN} if whose != "ours" else set()), done.stdout


def _of_langgraph(served):
    """Return the server's own description of LangGraph's routes, with the parameters that it leaves out of paths."""
    schema = httpx.get(f"{served}/openapi.json", headers=HEADERS).raise_for_status().json()
    schema["paths"] = {path: item for path, item in schema["paths"].items() if not path.startswith(NOT_LANGGRAPHS)}
    for path, item in schema["paths"].items():
        for operation in item.values():
            named = {parameter.get("name") for parameter in operation.setdefault("parameters", [])}
            for name in re.findall(r"{(\w+)}", path):
                if name not in named:
                    operation["parameters"].append({"name": name, "in": "path", "required": True, "schema": AN_ID})
    return schema
