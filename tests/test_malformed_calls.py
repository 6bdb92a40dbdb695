"""Malformed calls of the library and the command line get one clear line, and write nothing."""

import json
from datetime import datetime

import pytest

from langgraph_engram.cli.main import run
from langgraph_engram.errors import InvalidInput, InvalidMessages, StoreError
from langgraph_engram.formats.messages import Session
from langgraph_engram.integrations.middleware import EngramMiddleware
from langgraph_engram.integrations.retriever import EngramRetriever
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.integrations.tools import create_memory_tools
from langgraph_engram.memory import Memory
from langgraph_engram.settings import Settings
from langgraph_engram.state import Message

GOOD = {"role": "user", "content": "I live in Lisbon."}
SAY = {"user_id": "ana"}
HALF = "a \ud83d b"
LIMITS = (0, -1, 2.5, "3", True)
CALLS = {
    "no messages at all": lambda memory: memory.remember(None, **SAY),
    "a number for messages": lambda memory: memory.remember(7, **SAY),
    "a text for messages": lambda memory: memory.remember("I ski.", **SAY),
    "a bad one behind a good one": lambda memory: memory.remember([GOOD, {"role": "wizard", "content": "x"}], **SAY),
    "half a character": lambda memory: memory.remember([Message(text=HALF)], **SAY),
    "an empty session": lambda memory: memory.remember([GOOD], session_id="", **SAY),
    "half a character in a session": lambda memory: memory.remember([GOOD], session_id=HALF, **SAY),
    "a number for a session": lambda memory: memory.remember([GOOD], session_id=3, **SAY),
    "a word for a flag": lambda memory: memory.remember([GOOD], close_session="yes", **SAY),
    "a text for sessions": lambda memory: memory.remember_sessions("abc", **SAY),
    "sessions that are none": lambda memory: memory.remember_sessions([[GOOD]], **SAY),
    "an empty question": lambda memory: memory.search(" ", **SAY),
    "a question that is a list": lambda memory: memory.recall(["Where?"], **SAY),
    "half a character in a question": lambda memory: memory.recall(HALF, **SAY),
    "a budget that is a flag": lambda memory: memory.recall("x", budget=True, **SAY),
    "a budget that is no whole number": lambda memory: memory.search("x", budget=1.5, **SAY),
    "a budget of nothing": lambda memory: memory.search("x", budget=0, **SAY),
    "a budget that is a text": lambda memory: memory.recall("x", budget="2000", **SAY),
    **{f"a limit of {limit!r}": lambda memory, limit=limit: memory.search("x", limit=limit, **SAY) for limit in LIMITS},
    "a limit of nothing shown": lambda memory: memory.show("turns", "ana", limit=0),
    "a stop above one": lambda memory: memory.search("x", stop=1.5, **SAY),
    "a now that is none": lambda memory: memory.search("x", now="soon", **SAY),
    "a moment that is none": lambda memory: memory.search("x", as_of="2023-13-01", **SAY),
    "a moment that is empty": lambda memory: memory.search("x", as_of="", **SAY),
    "a moment out of bounds": lambda memory: memory.search("x", as_of="0001-01-01", **SAY),
    "a thread that is a text": lambda memory: memory.search("x", thread="a text", **SAY),
    "a thread of messages without words": lambda memory: memory.search("x", thread=[{"role": "user"}], **SAY),
    "a selection without a language model": lambda memory: memory.search("Plan lunch", select=True, **SAY),
    "a now out of bounds": lambda memory: memory.recall("x", now=datetime(1, 1, 1), **SAY),
    "a now that is a number": lambda memory: memory.recall("x", now=7, **SAY),
    "a style that is none": lambda memory: memory.recall("x", answer_style="poem", **SAY),
    "a stream of nothing": lambda memory: list(memory.stream("", **SAY)),
    "decisions by a field": lambda memory: memory.show("decisions", "ana", filters={"session": "alps"}),
    "an unknown kind": lambda memory: memory.show("zebras", "ana"),
    "a kind that is a list": lambda memory: memory.show([], "ana"),
    "an unknown record": lambda memory: memory.get("r0", **SAY),
    "an edit to nothing": lambda memory: memory.update(memory.show("records", "ana")[0].record_id, " ", **SAY),
    "an edit of an unknown record": lambda memory: memory.update("r0", "x", **SAY),
    "an undo of an unknown run": lambda memory: memory.undo("r0", **SAY),
    "an approval of an unknown run": lambda memory: memory.approve("r0", "approve", **SAY),
    "an unknown session to forget": lambda memory: memory.forget(session_id="s0", **SAY),
    "an unknown turn to forget": lambda memory: memory.forget(turn_id="t0", **SAY),
    "an unknown record to forget": lambda memory: memory.forget(record_id="r0", **SAY),
    "an export of nobody": lambda memory: memory.export("x.jsonl"),
    "a file that is missing": lambda memory: memory.load("missing.jsonl"),
    "a folder for a file": lambda memory: memory.load("/"),
    "a profile of nobody": lambda memory: memory.profile(""),
    "a history of nothing": lambda memory: memory.history("", **SAY),
    "a number for a store": lambda _: Memory(3, encoder="hashing"),
    "an empty store": lambda _: Memory("", encoder="hashing"),
    "a mapping for settings": lambda _: Memory("memory:", encoder="hashing", settings={"retrieve": {"budget": 10}}),
    "a mapping for a chat": lambda _: Memory("memory:", encoder="hashing", chat={"retries": 1}),
    "no documents of a retriever": lambda memory: EngramRetriever(memory=memory, **SAY).invoke("Where?", k=0),
    "a folder for the memory of tools": lambda _: create_memory_tools("./engram-data"),
    "a folder for the memory of a middleware": lambda _: EngramMiddleware("./engram-data"),
    "an unknown mode of a middleware": lambda memory: EngramMiddleware(memory, mode="deep"),
    "rules of an agent for a function": lambda memory: EngramMiddleware(memory, redact=["email"]),
    "a text for a function": lambda memory: create_memory_tools(memory, redact="email"),
    "unknown words to keep": lambda memory: EngramMiddleware(memory, keep="some"),
    "an unknown thing to do on errors": lambda memory: EngramMiddleware(memory, on_error="ignore"),
    "an unknown tool": lambda memory: create_memory_tools(memory, tools=["recall"]),
    "a text for a list of tools": lambda memory: create_memory_tools(memory, tools="save_memory"),
    "a text for a checkpointer": lambda _: Memory("memory:", encoder="hashing", checkpointer="x"),
    "a misspelt index": lambda _: EngramStore("memory:", index={"dim": 3}),
    "an index of dimensions alone": lambda _: EngramStore("memory:", index={"dims": 3}),
    "a text for an index": lambda _: EngramStore("memory:", index="x"),
}
COMMANDS = [
    ["remember", "{missing}", "-u", "ana"],
    ["remember", "{broken}", "-u", "ana"],
    ["remember", "{folder}", "-u", "ana"],
    ["remember", "{good}", "-u", " "],
    ["remember", "{good}", "-u", "ana", "--format", "yaml"],
    ["remember", "{good}", "-u", "ana", "--sample", "9"],
    ["remember", "{two}", "-u", "ana", "--session", "one"],
    ["remember", "{good}", "-u", "ana", "--metadata", "colour"],
    ["remember", "{good}", "-u", "ana", "--preset", "zebra"],
    ["remember", "{good}", "-u", "ana", "--model", "zebra"],
    ["recall"],
    ["recall", "Where?"],
    ["recall", "Where?", "-u", "ana", "--budget", "0"],
    ["recall", "Where?", "-u", "ana", "--now", "yesterday"],
    ["recall", "Where?", "-u", "ana", "--bogus"],
    ["recall", "", "-u", "ana"],
    ["recall", "Where?", "-u", "ana", "--limit", "3"],
    ["recall", "Where?", "-u", "ana", "--search", "--limit", "0"],
    ["recall", "Where?", "-u", "ana", "--as-of", "someday"],
    ["show", "-u", "ana", "--limit", "many"],
    ["show", "-u", "ana", "--kind", "zebras"],
    ["status"],
    ["nonsense"],
    ["update", "r0", "text", "-u", "ana"],
    ["undo", "r0", "-u", "ana"],
    ["history", "r0", "-u", "ana"],
    ["forget", "-u", "ana", "--session", "s0", "--yes"],
    ["forget", "-u", "ana", "--turn", "t0", "--yes"],
    ["forget", "-u", "ana", "--record", "r0", "--yes"],
    ["approve", "r0", "-u", "ana"],
    ["approve", "-u", "ana", "--reject"],
    ["load", "{broken}"],
    ["export", "{folder}", "-u", "ana"],
    ["export", "{good}"],
    ["serve", "--graph", "mine"],
    ["serve", "--port", "99999"],
]


@pytest.fixture(scope="module")
def memory():
    with Memory("memory:", "rules", encoder="hashing", settings=Settings()) as opened:
        opened.remember([GOOD], user_id="ana", session_id="s1")
        yield opened


def everything(memory):
    """Return all that is stored of anybody."""
    return {
        scope.key: {kind: memory.show(kind, **dict(zip(("user_id", "tenant", "agent_id"), names, strict=True)))
                    for kind in ("turns", "records", "events", "decisions")}
        for scope in memory.store.scopes() for names in [(scope.user_id, scope.tenant, scope.agent_id)]
    }  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_malformed_call_is_refused_whole(memory, name, tmp_path, monkeypatch):
    """With an error that is `InvalidInput`, one line long, and says something; nothing is stored, pending or lost."""
    monkeypatch.chdir(tmp_path)
    before = everything(memory)

    with pytest.raises(InvalidInput) as error:
        CALLS[name](memory)

    assert 10 < len(str(error.value)) < 500
    assert "\n" not in str(error.value)
    assert everything(memory) == before
    assert memory.status("ana").pending == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments))
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_malformed_command_fails_in_one_line(arguments, as_json, tmp_path, capsys, monkeypatch):
    """With exit code 2 or 1, on standard output the error as JSON where that was asked for, and nothing stored."""
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    for name in ("ENGRAM_MODEL", "ENGRAM_PRESET", "ENGRAM_TOKENS", "ENGRAM_USER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "store").mkdir()
    two = {"sessions": [{"session_id": name, "messages": [GOOD]} for name in ("a", "b")]}
    files = {"good": json.dumps([GOOD]), "two": json.dumps(two), "broken": '[{"role": "user", "content": '}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = {name: str(tmp_path / name) for name in (*files, "missing")} | {"folder": str(tmp_path)}
    options = ["--json"] if as_json and arguments[0] != "serve" else []

    code = run([*(part.format(**paths) for part in arguments), *options])

    out, err = capsys.readouterr()
    assert code in (1, 2)
    assert err.count("\n") == 1
    assert err.startswith("engram: ")
    assert not any(word in err for word in ("Traceback", "Value error"))
    assert bool(json.loads(out)["error"]) if options else out == ""
    if any((tmp_path / "store").iterdir()):
        with Memory(tmp_path / "store", "rules", encoder="hashing") as memory:
            assert memory.store.scopes() == []


METHODS = ("remember", "remember_sessions", "retry", "search", "recall", "status", "show")


def calls(memory, **whose):
    """Give a call of every method that takes whose memory it is."""
    known = {"user_id": "ana", **whose}
    return {
        "remember": lambda: memory.remember([GOOD], **known),
        "remember_sessions": lambda: memory.remember_sessions([], **known),
        "retry": lambda: memory.retry(**known),
        "search": lambda: memory.search("x", **known),
        "recall": lambda: memory.recall("x", **known),
        "status": lambda: memory.status(**known),
        "show": lambda: memory.show("turns", **known),
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("user_id", 5), ("user_id", "   "), ("user_id", ""),
        ("user_id", HALF), ("user_id", "a\x00b"), ("user_id", None), ("tenant", 5), ("tenant", None),
        ("tenant", ""), ("tenant", HALF), ("agent_id", []), ("agent_id", ""), ("agent_id", HALF), ("agent_id", 0),
    ],
)  # fmt: skip
def test_whose_memory_it_is_is_a_name(memory, method, argument, value):
    """Every method names the argument that is no name."""
    with pytest.raises(InvalidInput, match=argument):
        calls(memory, **{argument: value})[method]()


@pytest.mark.parametrize(("session_id", "name"), [("evening", "session 'evening'"), (None, "session number 2")])
def test_the_session_that_is_refused_is_named(memory, session_id, name):
    """By its id, or else by its number; nothing of the others is written."""
    sessions = [Session("morning", [Message(text="I row.")]), Session(session_id, [Message(text=HALF)])]

    with pytest.raises(InvalidMessages, match=f"^{name}: "):
        memory.remember_sessions(sessions, user_id="cem")

    assert memory.show("turns", "cem") == []


@pytest.mark.parametrize("store", ["folder", "memory:"])
@pytest.mark.parametrize("method", METHODS)
def test_a_closed_memory_says_so(tmp_path, store, method):
    """Every call on a memory that was closed is an error of the store that says what to do."""
    memory = Memory(store=tmp_path / "s" if store == "folder" else store, encoder="hashing")
    memory.close()

    with pytest.raises(StoreError, match="closed: open it again"):
        calls(memory)[method]()
