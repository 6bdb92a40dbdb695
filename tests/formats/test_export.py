"""What is exported is complete, loads anywhere, and is the same when it is exported again."""

import gzip
import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from langgraph_engram.cli.main import run
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput, StoreError, UnreadableFile
from langgraph_engram.formats.export import ITEM_LINES, KIND_OF, Footer, Header
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Decision, PendingTask, Scope
from langgraph_engram.stores.base import Changes
from tests.memory.test_interruptions import Cut

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

DOCS = Path(__file__).parent.parent.parent / "docs" / "reference"
HOMES = {1: "Quillhaven", 2: "Brontavia", 3: "Zephyrmoor"}
KINDS = ("turns", "events", "boundaries", "records", "syntheses", "decisions")


def export_schema():
    """Return the JSON Schema of one line of a file."""
    schema = TypeAdapter(Header | ITEM_LINES | Footer).json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A line of an export", **schema}


def open_memory(folder, encoder="hashing"):
    return Memory(folder, "rules", encoder=encoder)


def remember(memory, user="ana", sessions=(1, 2, 3), **scope):
    """Remember that Ana moves on each day, a session a day."""
    for day in sessions:
        said = [
            {"speaker": "Ana", "text": f"I live in {HOMES[day]}.", "said_at": f"2024-03-0{day}T09:00:00+10:00"},
            {"speaker": "Ben", "text": f"My bike cost {day}00 euros \u2028 \N{BICYCLE} it rains."},
        ]
        memory.remember(said, user_id=user, session_id=f"day-{day}", close_session=True, **scope)


def shown(memory, user="ana"):
    return {kind: memory.show(kind, user) for kind in KINDS}


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def other():
    """A memory with another encoder."""
    with open_memory("memory:", HashingEncoder(32)) as opened:
        yield opened


def test_everything_loads_into_a_store_of_another_encoder_and_is_exported_as_it_was(memory, other, tmp_path):
    """Every field of every kind, of all users, tenants and agents, byte for byte; and it can be found."""
    remember(memory)
    remember(memory, "ben", (1,), tenant="acme", agent_id="helper")

    written = memory.export(tmp_path / "all.jsonl", everyone=True)
    loaded = other.load(tmp_path / "all.jsonl")
    other.export(tmp_path / "again.jsonl", everyone=True)

    assert (tmp_path / "all.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    assert shown(other) == shown(memory)
    assert (written.scopes, written.turns, loaded.turns, loaded.known) == (2, 8, 8, 0)
    assert "Zephyrmoor" in other.search("Where does Ana live?", user_id="ana").evidence[0].text


def test_superseded_records_their_decisions_and_what_is_pending_travel(memory, other, tmp_path):
    """Lineage can be followed, undone and retried where it was loaded."""
    remember(memory)
    task = PendingTask(
        pending_id="p", run_id="run", session_id="day-9", turn_ids=["gone"], step="extract", reason="cut off",
        since=datetime(2024, 3, 9),
    )  # fmt: skip
    memory.store.commit(Scope(user_id="ana"), Changes(pending_tasks=[task]))
    memory.export(tmp_path / "ana.jsonl", user_id="ana")

    other.load(tmp_path / "ana.jsonl")

    superseded = [record for record in other.show("records", "ana") if record.status == "superseded"]
    assert superseded
    assert other.history(superseded[0].record_id, user_id="ana") == memory.history(
        superseded[0].record_id, user_id="ana"
    )
    assert other.status("ana").pending == [task]
    assert other.undo(other.show("decisions", "ana")[-1].run_id, user_id="ana").restored


def test_loading_twice_adds_nothing_and_takes_nothing_back(memory, other, tmp_path):
    """What has changed since stays as it is, and is counted. Neither its name nor the time is in a gzipped file."""
    remember(memory)
    memory.export(tmp_path / "ana.jsonl.gz", user_id="ana")
    memory.export(tmp_path / "two.jsonl.gz", user_id="ana")
    other.load(tmp_path / "ana.jsonl.gz")
    again = other.load(tmp_path / "two.jsonl.gz")
    before = shown(other)
    other.undo(other.show("decisions", "ana")[-1].run_id, user_id="ana")
    after = shown(other)

    late = other.load(tmp_path / "ana.jsonl.gz")

    assert gzip.decompress((tmp_path / "two.jsonl.gz").read_bytes()).startswith(b'{"format"')
    assert (tmp_path / "ana.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert (again.turns, again.records, again.differing) == (0, 0, 0)
    assert again.known == sum(map(len, before.values()))
    assert after != before
    assert shown(other) == after
    assert late.differing > 0


def test_a_task_that_was_done_since_is_not_pending_again(memory, other, tmp_path):
    """Its turns are stored, and it is not among what is left: a retry would extract twice."""
    remember(memory, sessions=(1,))
    turns = [turn.turn_id for turn in memory.show("turns", "ana")]
    task = PendingTask(
        pending_id="p", run_id="r", session_id="day-1", turn_ids=turns, step="extract", reason="", since=datetime.now()
    )
    memory.store.commit(Scope(user_id="ana"), Changes(pending_tasks=[task]))
    memory.export(tmp_path / "ana.jsonl", user_id="ana")
    other.load(tmp_path / "ana.jsonl")
    other.retry(user_id="ana")

    other.load(tmp_path / "ana.jsonl")

    assert other.status("ana").pending == []


def test_a_load_cut_off_anywhere_is_pending_until_it_is_done_again(memory, tmp_path, monkeypatch):
    """`status` and `doctor` name the file, neither a retry nor a repair takes what is there for whole."""
    remember(memory)
    remember(memory, "ben", (1,))
    file, cut = tmp_path / "all it is.jsonl", Cut(monkeypatch)
    memory.export(file, everyone=True)

    for writes in count(0, 3):
        with open_memory("memory:") as other:
            cut.left = writes
            try:
                other.load(file)
                break
            except StoreError:
                cut.left = None
            loaded = shown(other), shown(other, "ben")
            found = other.doctor(fix=True).findings
            pending = [task for user in ("ana", "ben") for task in other.status(user).pending]
            receipts = [other.retry(user_id=user) for user in ("ana", "ben")]
            assert {finding.check for finding in found} == ({"unfinished load"} if writes else set())
            assert all(f"{file} is loaded in part" in task.reason for task in pending)
            assert (shown(other), shown(other, "ben")) == loaded
            assert not any(receipt.records or receipt.pending for receipt in receipts)

            other.load(file)
            other.export(tmp_path / "again.jsonl", everyone=True)

            assert other.doctor().findings == other.status("ana").pending == other.status("ben").pending == []
            assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()
    assert writes > 10
    cut.left = None


def test_what_a_load_that_was_cut_off_left_can_be_forgotten(memory, tmp_path, monkeypatch, capsys):
    """The command line says what to do before, and nothing is left after."""
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")
    remember(memory)
    memory.export(tmp_path / "a b.jsonl", user_id="ana")
    cut, place = Cut(monkeypatch), ["--user", "zoe", "--store", str(tmp_path / "zoe")]
    with open_memory(tmp_path / "zoe") as cut_off:
        cut.left = 6
        with pytest.raises(StoreError):
            cut_off.load(tmp_path / "a b.jsonl", user_id="zoe")
    cut.left = None

    assert run(["status", *place]) == 0
    assert f"load it again: engram load '{tmp_path / 'a b.jsonl'}' --user zoe" in capsys.readouterr().out
    assert run(["retry", *place]) == 0
    assert "engram retry" not in capsys.readouterr().out
    assert run(["forget", "--yes", *place]) == 0
    with open_memory(tmp_path / "zoe") as left:
        assert (left.status("zoe").pending, left.doctor().scopes) == ([], 0)


KILLED = """
import os, sys
import chromadb
from langgraph_engram.formats import export
from langgraph_engram.memory import Memory
export.Footer = lambda **counts: os._exit(9)
for file in sys.argv[1:]:
    if not os.fork():
        Memory(os.path.dirname(file) + "/store", "rules", encoder="hashing").export(file, everyone=True)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 9
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Files beside their stores, of which an export was killed, by name, and what was in each before."""
    files = [tmp_path_factory.mktemp("killed") / name for name in ("all.jsonl", "all.jsonl.gz", "removed.jsonl")]
    for file in files:
        with open_memory(file.parent / "store") as memory:
            remember(memory, sessions=(1,))
            if file.name != "removed.jsonl":
                memory.export(file, everyone=True)
    before = {file.name: (file, file.read_bytes() if file.exists() else None) for file in files}
    subprocess.run([sys.executable, "-c", KILLED, *files], check=True)
    return before


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_what_a_killed_export_left_says_so_and_is_replaced(killed, name):
    """By its name, and when it is loaded; the last whole one stays."""
    file, whole = killed[name]
    left = file.parent / f"{name}.unfinished"

    with open_memory(file.parent / "store") as memory:
        assert (left.exists(), file.read_bytes()) == (True, whole)
        with pytest.raises(UnreadableFile, match="did not reach its end"):
            memory.load(left)
        (finding,) = memory.doctor(fix=True).findings
        assert (finding.check, finding.ids, finding.fixed) == ("unfinished export", [str(left)], False)
        memory.export(file, everyone=True)
        assert (left.exists(), file.read_bytes()) == (False, whole)
        assert memory.doctor().is_sound


def test_an_unfinished_export_that_was_removed_by_hand_is_none(killed):
    """Nothing is left that somebody could take for a whole one."""
    file, _ = killed["removed.jsonl"]
    (file.parent / "removed.jsonl.unfinished").unlink()

    with open_memory(file.parent / "store") as memory:
        assert memory.doctor().is_sound


def test_memories_may_become_another_users(memory, other, tmp_path):
    """A file of one user is loaded under the name that is given; one of several is refused."""
    remember(memory)
    remember(memory, "ben", (1,))
    memory.export(tmp_path / "ana.jsonl", user_id="ana")
    memory.export(tmp_path / "all.jsonl", everyone=True)

    other.load(tmp_path / "ana.jsonl", user_id="zoe", tenant="acme")

    assert other.show("turns", "zoe", tenant="acme") == memory.show("turns", "ana")
    assert other.show("turns", "ana") == []
    with pytest.raises(InvalidInput, match="holds memories of 2 users"):
        other.load(tmp_path / "all.jsonl", user_id="zoe")


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The lines of a file in which nothing is wrong."""
    file = tmp_path_factory.mktemp("whole") / "ana.jsonl"
    with open_memory("memory:") as memory:
        remember(memory, sessions=(1,))
        memory.export(file, user_id="ana")
    return lines(file)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda rows: rows[:-1], "is cut off after"),
        (lambda rows: [*rows[:-1], rows[-1].replace(b"items", b"itemz")], "line 11"),
        (lambda rows: [*rows[:3], *rows[4:]], "says it has"),
        (lambda rows: [*rows[:2], rows[2].replace(b'"seq"', b'"sequence"'), *rows[3:]], "line 3: .*seq"),
        (lambda rows: [*rows[:4], rows[4][:40], b"\n", *rows[5:]], "line 5"),
        (lambda rows: [rows[0].replace(b'"version":1', b'"version":9'), *rows[1:]], "version 9"),
        (lambda rows: [rows[0].replace(b"langgraph-engram", b"other"), *rows[1:]], "format"),
        (lambda rows: [*rows, *rows], "two files in one"),
        (lambda rows: [b'[{"speaker": "Ana", "text": "Hi"}]'], "expected an export"),
        (lambda rows: [b""], "expected an export"),
    ],
)  # fmt: skip
def test_a_damaged_file_stores_nothing_and_says_where(whole, other, tmp_path, damage, complaint):
    """It is checked whole before anything is written."""
    (tmp_path / "bad.jsonl").write_bytes(b"".join(damage(whole)))

    with pytest.raises(UnreadableFile, match=complaint) as raised:
        other.load(tmp_path / "bad.jsonl", user_id="ana")

    assert str(tmp_path / "bad.jsonl") in str(raised.value)
    assert not any(shown(other).values())


def test_a_missing_file_a_cut_gzip_and_a_name_that_cannot_be_written_are_said(memory, tmp_path):
    """In one line each."""
    remember(memory, sessions=(1,))
    memory.export(tmp_path / "ana.jsonl.gz", user_id="ana")
    (tmp_path / "cut.gz").write_bytes((tmp_path / "ana.jsonl.gz").read_bytes()[:-40])

    for name in ("missing.jsonl", "cut.gz"):
        with pytest.raises(UnreadableFile, match="cannot be read"):
            memory.load(tmp_path / name)
    with pytest.raises(UnreadableFile, match="cannot be written"):
        memory.export(tmp_path / "no" / "such" / "folder.jsonl", user_id="ana")
    assert not list(tmp_path.glob("*unfinished"))


def test_whose_memory_it_is_has_to_be_said(memory, tmp_path):
    """One user or everyone, never nobody; and a closed memory exports nothing."""
    for named in ({}, {"user_id": "ana", "everyone": True}):
        with pytest.raises(InvalidInput, match="whose memory"):
            memory.export(tmp_path / "x.jsonl", **named)
    assert memory.export(tmp_path / "x.jsonl", user_id="nobody").turns == 0
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.export(tmp_path / "x.jsonl", everyone=True)
    with pytest.raises(StoreError, match="closed"):
        memory.load(tmp_path / "x.jsonl")


@settings(max_examples=10, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(blacklist_categories=("Cs",)), min_size=1),
    offset=st.integers(-14 * 60, 14 * 60),
    moment=st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    cosine=st.floats(-1, 1),
)
def test_any_text_moment_and_number_survives(tmp_path_factory, turn, text, offset, moment, cosine):
    """Control characters, separators, offsets, microseconds, and the last bit of a float."""
    folder = tmp_path_factory.mktemp("any")
    zone = timezone(timedelta(minutes=offset))
    said = turn(0, text, said_at=moment.replace(tzinfo=zone), captions=[text])
    decision = Decision(
        decision_id="d", run_id="r", pair=["a", "b"], jaccard=0.5, cosine=cosine, action="MERGE", decided_at=moment
    )
    with open_memory("memory:") as memory, open_memory("memory:", HashingEncoder(8)) as other:
        memory.store.commit(Scope(user_id="ana"), Changes(turns=[said], decisions=[decision]))
        memory.export(folder / "one.jsonl", everyone=True)
        other.load(folder / "one.jsonl")
        other.export(folder / "two.jsonl", everyone=True)
        assert other.show("turns", "ana") == [said]
        assert other.show("decisions", "ana") == [decision]

    assert (folder / "one.jsonl").read_bytes() == (folder / "two.jsonl").read_bytes()


def test_more_than_a_page_keeps_its_order(tmp_path, turn):
    """Items come in the order they were first written, also after one of them was written again."""
    scope = Scope(user_id="ana")
    many = [turn(seq, f"number {seq}") for seq in range(2500)]
    with open_memory(tmp_path / "a") as memory, open_memory(tmp_path / "b", HashingEncoder(8)) as other:
        memory.store.commit(scope, Changes(turns=many))
        memory.store.commit(scope, Changes(turns=[turn(7, "number seven")]))
        memory.export(tmp_path / "a.jsonl", user_id="ana")
        other.load(tmp_path / "a.jsonl")
        other.export(tmp_path / "b.jsonl", user_id="ana")

    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_the_published_schema_is_that_of_the_lines(memory, tmp_path):
    """`docs/reference/export.schema.json` is fresh, and names every kind and every field of it."""
    published = json.loads((DOCS / "export.schema.json").read_text(encoding="utf-8"))
    remember(memory)
    memory.export(tmp_path / "ana.jsonl", user_id="ana")

    assert published == export_schema()
    for line in map(json.loads, lines(tmp_path / "ana.jsonl")[1:-1]):
        model = KIND_OF[line["kind"]].model.__name__
        assert published["$defs"][model]["properties"].keys() == line["item"].keys()
