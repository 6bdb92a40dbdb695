"""The adapters run in packages of the shape that the harnesses have, with a model that is scripted."""

import importlib
import json
import re
import shutil
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

ADAPTERS = Path(__file__).parents[1] / "adapters"
TURNS = ["My sister Runa sells cider in Bergen.", "I planted three apple trees."]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Put an adapter into a package beside modules that stand for the harness's own."""
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(adapter, module, **stubs):
        for name, stub in stubs.items():
            named = types.ModuleType(name.replace("__", "."))
            vars(named).update(stub)
            monkeypatch.setitem(sys.modules, named.__name__, named)
        file = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
        file.parent.mkdir(parents=True)
        shutil.copy(ADAPTERS / adapter, file)
        for package in file.relative_to(tmp_path).parents:
            monkeypatch.delitem(sys.modules, str(package).replace("/", "."), raising=False)
        monkeypatch.delitem(sys.modules, module, raising=False)
        return importlib.import_module(module)

    return put


@dataclass
class Document:
    id: str
    content: str = ""
    user_id: str | None = None
    messages: list | None = None
    timestamp: str | None = None


def turns_of(text, shape):
    said = [{"speaker": "Ada", "text": text}, {"role": "assistant", "content": "Good."}]
    lines = f"[May-01-2024 | Turn 0] User: {text}\n\n[Turn 1] Assistant: Good."
    return {"messages": {"content": "", "messages": said}, "json": {"content": json.dumps(said)},
            "lines": {"content": lines}, "text": {"content": text}}[shape]  # fmt: skip


@pytest.mark.parametrize("shape", ["messages", "json", "lines", "text"])
def test_agent_memory_benchmark(place, tmp_path, shape):
    """Documents of each shape are found by their turns and under their ids, each user's own, and anew after a reset."""
    stubs = {"memory_bench__models": {"Document": Document}, "memory_bench__memory__base": {"MemoryProvider": object}}
    provider = place("amb.py", "memory_bench.memory.engram", **stubs).EngramMemoryProvider()

    provider.prepare(tmp_path / "store")
    provider.ingest(
        [Document(f"d{at}", **turns_of(text, shape), user_id=f"u{at}", timestamp="2024-05-01")
         for at, text in enumerate(TURNS)]
    )  # fmt: skip
    found, raw = provider.retrieve("Who sells cider?", user_id="u0", query_timestamp="2024-06-01")
    other, _ = provider.retrieve("Who sells cider?", user_id="u1")
    provider.cleanup()
    provider.prepare(tmp_path / "store")
    anew, _ = provider.retrieve("Who sells cider?", user_id="u0")
    provider.cleanup()

    assert (found[0].id, TURNS[0] in found[0].content, raw, anew) == ("d0", True, None, [])
    assert all(
        "cider" not in document.content and "Turn 0" not in document.content for document in [*other, *found[1:]]
    )


class Record:
    """Takes any fields."""

    def __init__(self, **fields):
        vars(self).update(fields)


class Scripted:
    async def generate(self, query, context, system):
        return SimpleNamespace(text="Runa" if "Runa" in context else "", total_tokens=7, cost_usd=0.0)


@dataclass
class Turn:
    id: str
    content: str
    role: str = "user"
    timestamp: str | None = None


@dataclass
class Chat:
    id: str
    timestamp: str | None = "2024/05/01 (Wed) 10:21"
    turns: list = field(default_factory=list)


async def test_memory_arena(place):
    """Sessions are told by their ids, and the arena's model reads what was found."""
    stubs = {
        "memory_arena__llm__client": {"LLMClient": Scripted},
        "memory_arena__sessions__schema": {"Session": Chat},
        "memory_arena__strategies__base": {"IngestRecord": Record, "MemoryStrategy": object, "RecallResult": Record},
    }
    strategy = place("memory_arena.py", "arena_with_us.engram", **stubs).EngramStrategy()

    await strategy.setup("run-1")
    records = [
        await strategy.ingest_session(Chat(f"s{at}", turns=[Turn(f"t{at}", text)])) for at, text in enumerate(TURNS)
    ]
    result = await strategy.recall("Who sells cider?", top_k=5)
    await strategy.teardown()

    assert (records[0].facts_extracted, records[0].session_id) == (1, "s0")
    assert result.retrieved_memories[0]["content"].startswith("1 May 2024")
    assert (result.answer, result.supporting_session_ids[0], result.supporting_turn_ids[0]) == ("Runa", "s0", "t0")


def test_memory_agent_bench(place):
    """A chunk is memorized, of no context that is named, and the model answers from what is found for the question."""
    methods = place("memory_agent_bench.py", "methods.engram")
    asked = []

    def create(**request):
        asked.append(request["messages"])
        said = SimpleNamespace(message=SimpleNamespace(content="Runa"))
        return SimpleNamespace(choices=[said], usage=SimpleNamespace(prompt_tokens=7, completion_tokens=1))

    completions = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    agent = SimpleNamespace(
        sub_dataset="facts", model="m", temperature=0.0, max_tokens=9, _create_oai_client=lambda: completions,
        _create_standard_response=lambda *values: values,
        _extract_retrieval_query=lambda message: re.search(r"Now Answer the Question:\s*(.*)", message, re.DOTALL)[1],
    )  # fmt: skip
    prompt = "Use the pool. Now Answer the Question: Based on the provided Knowledge Pool, Who sells cider? \nAnswer:"

    methods.initialize_engram_agent(agent, {"retrieve_num": 5})
    stored = methods.handle_engram_agent(agent, TURNS[0], True, None, None)
    response = methods.handle_engram_agent(agent, prompt, False, 1, 1)
    agent.memory.close()

    assert (stored, response[:3]) == ("Memorized", ("Runa", 7, 1))
    assert "Runa sells cider" in asked[0][0]["content"]
