"""Each planted defect is found by its name; what can be rebuilt from the raw turns is mended."""

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest

from langgraph_engram.cli.main import run
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import StoreError
from langgraph_engram.memory import Memory
from langgraph_engram.runner import thread_of
from langgraph_engram.schema import PendingTask, Scope
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store
from langgraph_engram.stores.index import RECORDS, TURNS
from langgraph_engram.stores.rows import row_id

pytestmark = pytest.mark.usefixtures("syntheses_at_once")

ANA, BEN = Scope(user_id="ana"), Scope(user_id="ben")
HOMES = ("Quillhaven", "Brontavia", "Zephyrmoor")


class OtherWeights(HashingEncoder):
    """An encoder under the old name that gives other vectors."""

    def encode(self, texts):
        return np.ascontiguousarray(np.roll(super().encode(texts), 1, axis=1))


def open_memory(folder, encoder="hashing"):
    return Memory(folder, "rules", encoder=encoder)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """The folder of a store in which nothing is wrong."""
    folder = tmp_path_factory.mktemp("healthy") / "store"
    with open_memory(folder) as memory:
        for day, home in enumerate(HOMES, start=1):
            said = [
                {"speaker": "Ana", "text": f"I live in {home}.", "said_at": f"2024-03-0{day}T09:00:00Z"},
                {"speaker": "Ben", "text": f"I drove {day} miles today.", "said_at": f"2024-03-0{day}T09:01:00Z"},
            ]
            memory.remember(said, user_id="ana", session_id=f"day-{day}", close_session=True)
        memory.remember([{"speaker": "Cy", "text": "I planted a pear tree."}], user_id="ben", session_id="s")
        memory.recall("Where does Ana live?", user_id="ana")
    return folder


@pytest.fixture
def folder(healthy, tmp_path):
    """A copy of the healthy store."""
    shutil.copytree(healthy, tmp_path / "store")
    return tmp_path / "store"


class Stored:
    """A store that is open for something to be planted in it."""

    def __init__(self, folder):
        self.folder = folder
        self.store = open_store(folder, HashingEncoder())
        self.index = self.store.index(ANA)
        self.decisions = self.store.decisions(ANA)

    def commit(self, **changes):
        self.store.commit(ANA, Changes(**changes))

    def active(self):
        return next(record for record in self.index.records.items if record.status == "active")

    def superseded(self):
        return next(record for record in self.index.records.items if record.status == "superseded")

    def change(self, record, **update):
        self.commit(records=[record.model_copy(update=update)])

    @property
    def memories(self):
        return self.store._rows.memories

    def row(self, name):
        """Return the first row of Ana's of a kind: id, metadata, document, vector."""
        rows = self.memories.get(
            where={"$and": [{"scope": ANA.key}, {"kind": name}]},
            limit=1,
            include=["metadatas", "documents", "embeddings"],
        )
        return rows["ids"][0], rows["metadatas"][0], rows["documents"][0], rows["embeddings"][0]

    def put_row(self, key, metadata, document=None, vector=(1.0, *[0.0] * 255)):
        documents = [document] if document else None
        self.memories.upsert(ids=[key], metadatas=[metadata], documents=documents, embeddings=[list(vector)])

    def change_vector(self, changed):
        """Change the vector of Ana's first record."""
        key, *_, vector = self.row("records")
        self.memories.update(ids=[key], embeddings=[changed(vector)])


def task(step, turn_id):
    known = {"pending_id": "planted", "run_id": "none", "session_id": "day-1", "reason": "it failed"}
    return PendingTask(**known, turn_ids=[turn_id], step=step, since=datetime.now(UTC))


def missing_successor(at):
    at.change(at.superseded(), superseded_by="gone")


def orphan_turn(at):
    turn = at.index.turns.items[0]
    at.commit(turns=[turn.model_copy(update={"turn_id": "new", "seq": 7, "text": "I keep bees."})])


def two_at_one_position(at):
    turn, event = at.index.turns.items[0], at.index.events.items[0]
    at.commit(
        turns=[turn.model_copy(update={"turn_id": "copy", "text": "Hi."})],
        events=[event.model_copy(update={"turn_ids": [*event.turn_ids, "copy"]})],
    )


def change_first(at, name, **update):
    items = at.decisions if name == "decisions" else getattr(at.index, name).items
    at.commit(**{name: [items[-1].model_copy(update=update)]})


def foreign_rows(at):
    """One of Ben's two equal records under Ana's scope, with its turn, as wrong writes would leave them."""
    index = at.store.index(BEN)
    turn, record = index.turns.items[0], index.records.items[0]
    at.store.commit(
        BEN,
        Changes(
            turns=[turn.model_copy(update={"turn_id": "more", "seq": 1})],
            records=[record.model_copy(update={"record_id": "more", "source_turn_ids": ["more"]})],
        ),
    )
    for key in (row_id(BEN, TURNS, "more"), row_id(BEN, RECORDS, "more")):
        metadata = at.memories.get(ids=[key], include=["metadatas"])["metadatas"][0]
        at.memories.update(ids=[key], metadatas=[{**metadata, "scope": ANA.key}])
    at.store.drop_index(ANA)


def lost_vectors(at):
    """Chroma writes a vector index out and forgets its log; then the files are lost."""
    kept = at.memories
    many = at.active()
    at.commit(records=[many.model_copy(update={"record_id": f"r{n}", "status": "archived"}) for n in range(1100)])
    at.store.close()
    with closing(sqlite3.connect(at.folder / "chroma.sqlite3")) as database:
        query = "SELECT id FROM segments WHERE scope = 'VECTOR' AND collection = ?"
        shutil.rmtree(at.folder / database.execute(query, (str(kept.id),)).fetchone()[0])


def missing_words(at):
    """Chroma's index of words loses a row, past Chroma."""
    at.store.close()
    with closing(sqlite3.connect(at.folder / "chroma.sqlite3")) as database:
        first = "SELECT min(rowid) FROM embedding_fulltext_search"
        assert database.execute(f"DELETE FROM embedding_fulltext_search WHERE rowid = ({first})").rowcount
        database.commit()


def log_of_a_removed_row(at):
    """A row is gone from the tables, and its text is still in the log."""
    collection = at.memories.id
    at.store.close()
    with closing(sqlite3.connect(at.folder / "chroma.sqlite3")) as database:
        _, key = database.execute(
            "SELECT topic, id FROM embeddings_queue WHERE topic LIKE ? AND id LIKE '%:records:%' LIMIT 1",
            (f"%/{collection}",),
        ).fetchone()
        store = open_store(at.folder, HashingEncoder())
        store._rows.memories.delete(ids=[key])
        store.close()
        assert database.execute("SELECT count(*) FROM embeddings_queue WHERE id = ? AND operation != 3", (key,))


MENDED = {
    "record of missing sources": lambda at: at.change(at.active(), source_turn_ids=["gone"]),
    "record of missing sources, its event": lambda at: at.change(at.active(), event_id="gone"),
    "event of missing turns": lambda at: at.commit(removed={"turns": [at.index.turns.items[0].turn_id]}),
    "wrong successor": missing_successor,
    "wrong successor, of an active record": lambda at: at.change(at.active(), superseded_by=at.superseded().record_id),
    "link to missing records": lambda at: at.change(at.active(), derived_from=["gone"]),
    "link to missing records, a conflict": lambda at: at.change(at.active(), conflicts_with=["gone"]),
    "unsupported record": lambda at: at.change(at.active(), content="Ana: I moved to Mistelgau with 47 llamas."),
    "turn without event": orphan_turn,
    "boundary of a missing event": lambda at: change_first(at, "boundaries", from_event_id="gone"),
    "synthesis of missing memories": lambda at: change_first(at, "syntheses", covered_record_ids=["gone"]),
    "outdated synthesis, stale": lambda at: change_first(at, "syntheses", status="stale"),
    "decision on missing records": lambda at: change_first(at, "decisions", result_id="gone"),
    "task for missing turns": lambda at: at.commit(pending_tasks=[task("extract", "gone")]),
    "approval without a run": lambda at: at.commit(
        pending_tasks=[task("approve_updates", at.index.turns.items[0].turn_id)]
    ),
    "outdated text": lambda at: at.put_row(*at.row("records")[:2], "something else", at.row("records")[3]),
    "wrong vector, too long": lambda at: at.change_vector(lambda vector: vector * 3),
    "wrong vector, of another text": lambda at: at.change_vector(lambda vector: np.roll(vector, 3)),
    "wrong vector, lost": lost_vectors,
    "missing words": missing_words,
    "residue in the log": log_of_a_removed_row,
}
"""What plants each defect that --fix mends."""
LEFT = {
    "turn in two events": lambda at: change_first(at, "events", event_id="copy"),
    "two turns at one position": two_at_one_position,
    "row without a kind": lambda at: at.put_row("x:y", {"a": 1}),
    "row without a scope": lambda at: at.put_row("x:y", {"kind": "events"}),
    "unreadable row": lambda at: at.put_row(at.row("turns")[0], {**at.row("turns")[1], "item": "{}"}),
    "row under another id, of another scope": foreign_rows,
    "row under another id": lambda at: at.put_row(row_id(ANA, RECORDS, "other"), *at.row("turns")[1:]),
}
"""What plants those that a person has to judge."""


def examine(folder, capsys, *options):
    code = run(["doctor", "--store", str(folder), "--json", *options])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    monkeypatch.setenv("ENGRAM_ENCODER", "hashing")


def test_a_healthy_store_is_sound(folder, capsys):
    """Nothing is found in a store that was remembered, recalled and forgotten in."""
    with open_memory(folder) as memory:
        memory.forget(user_id="ana", session_id="day-2")
        memory.retry(user_id="ana")
        diagnosis = memory.doctor()

    assert diagnosis.findings == []
    assert diagnosis.notes == []
    assert (diagnosis.is_sound, diagnosis.scopes) == (True, 2)
    assert run(["doctor", "--store", str(folder)]) == 0
    assert "sound" in capsys.readouterr().out


@pytest.mark.parametrize("defect", [*MENDED, *LEFT])
def test_a_planted_defect_is_found_and_mended_where_it_says_so(folder, capsys, defect):
    """Exit code 3; with --fix 0 if all was mended; and the raw turns are as they were."""
    check = defect.partition(",")[0]
    at = Stored(folder)
    (MENDED | LEFT)[defect](at)
    at.store.close()

    code, found = examine(folder, capsys)
    again, same = examine(folder, capsys)
    fixed, _ = examine(folder, capsys, "--fix")

    finding = next(finding for finding in found["findings"] if finding["check"] == check)
    assert (code, again, same["findings"]) == (3, 3, found["findings"])
    assert bool(finding["fix"]) == (defect in MENDED)
    if defect in LEFT:
        after, left = examine(folder, capsys)
        assert fixed == after == 3
        assert check in {finding["check"] for finding in left["findings"]}
        return
    assert fixed == 0
    with open_memory(folder) as memory:
        assert memory.doctor().findings == []
        memory.retry(user_id="ana")
        assert memory.doctor().findings == []
        found_texts = [passage.text for passage in memory.search("Where does Ana live?", user_id="ana").evidence]
        assert any("Zephyrmoor" in text for text in found_texts)


def test_an_index_that_is_not_what_is_stored_is_read_again(folder):
    """Somebody wrote past the store, which this process serves from memory."""
    with open_memory(folder) as memory:
        store = memory.store
        index = store.index(ANA)
        gone = index.turns.items[0].turn_id
        store._rows.remove(ANA, {"boundaries": [index.boundaries.items[0].boundary_id]})

        found = {finding.check for finding in memory.doctor().findings}
        mended = memory.doctor(fix=True)

        assert "outdated index" in found
        assert mended.is_sound
        assert memory.doctor().findings == []
        assert gone in store.index(ANA).turns


def test_checkpoints_of_what_is_not_stored_are_residue(folder):
    """The run of a recall that saw a turn which is gone is deleted."""
    with open_memory(folder) as memory:
        turn = memory.show("turns", "ana")[0]
        memory.write_graph.get_graph()
        config = thread_of("planted", ANA)
        memory._writes.graph.update_state(
            config, {"turns": [turn.model_copy(update={"turn_id": "forgotten"})]}, as_node="extract"
        )

        found = memory.doctor()
        mended = memory.doctor(fix=True)

        assert [(finding.check, finding.ids) for finding in found.findings] == [("residue in checkpoints", ["planted"])]
        assert mended.is_sound
        assert memory.doctor().findings == []


def test_other_weights_under_the_old_name_are_noticed_and_all_is_encoded_anew(folder):
    """A name is not enough: the vectors of a sample are compared with what the encoder gives now."""
    with open_memory(folder, OtherWeights()) as memory:
        found = {finding.check for finding in memory.doctor().findings}
        mended = memory.doctor(fix=True)

        assert found == {"encoder fingerprint"}
        assert mended.is_sound
        assert memory.doctor().findings == []


@pytest.mark.parametrize(("key", "check"), [("item", "unreadable row"), ("scope", "row without a scope")])
def test_a_row_that_lost_a_key_is_a_finding_and_one_error(folder, capsys, tmp_path, key, check):
    """A byte of the key's name is another, which SQLite cannot know."""
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database:
        database.execute(
            "UPDATE embedding_metadata SET key = 'other' WHERE key = ? AND id = "
            "(SELECT min(id) FROM embedding_metadata WHERE key = 'kind' AND string_value = 'turns')",
            [key],
        )
        database.commit()
    shutil.rmtree(folder / "snapshots", ignore_errors=True)

    code, found = examine(folder, capsys)

    assert code == 3
    assert check in {finding["check"] for finding in found["findings"]}
    with open_memory(folder) as memory, pytest.raises(StoreError):
        memory.export(tmp_path / "all.jsonl", everyone=True)


@pytest.mark.parametrize(
    ("name", "table", "byte"),
    [
        ("chroma.sqlite3", "maintenance_log", b"\x00"),
        ("chroma.sqlite3", "maintenance_log", b"\xff"),
        ("checkpoints.sqlite", "writes", b"\xff"),
    ],
)
def test_a_database_that_is_too_damaged_to_be_checked_is_a_finding(folder, capsys, name, table, byte):
    """SQLite raises an error where it would list what is damaged: here in a table that nothing reads before."""
    path = folder / name
    with closing(sqlite3.connect(path)) as database:
        [(page,)] = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table])
        [(size,)] = database.execute("PRAGMA page_size")
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = byte * size
    path.write_bytes(content)

    code, found = examine(folder, capsys)

    assert code == 3
    assert "damaged database" in {finding["check"] for finding in found["findings"]}


def test_the_encoder_that_is_named_is_not_the_stores(folder, capsys, monkeypatch):
    """Nothing is examined, and the right one is named."""
    monkeypatch.setenv("ENGRAM_ENCODER", "minilm")

    code, found = examine(folder, capsys)

    assert code == 1
    assert "was written with the encoder 'hashing-256'" in found["error"]


def test_findings_are_printed_for_people(folder, capsys):
    """The check, how many, what is wrong, and what would mend it; one line where there is no store."""
    assert run(["doctor", "--store", str(folder / "nothing")]) == 2
    assert "no memory at" in capsys.readouterr().err
    at = Stored(folder)
    missing_successor(at)
    at.store.close()

    assert run(["doctor", "--store", str(folder)]) == 3
    assert "wrong successor: 1 of ana" in (shown := capsys.readouterr().out)
    assert "--fix makes it active again" in shown
    assert run(["doctor", "--store", str(folder), "--fix"]) == 0
    assert "mended" in capsys.readouterr().out
