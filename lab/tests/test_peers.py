"""Memories are compared as processes of their own; one that fails has a row that says why."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from engram_lab.asked import Asked
from engram_lab.datasets import Conversation
from engram_lab.evidence_scores import Passage
from engram_lab.peers.report import below_floor, losses, markdown, report
from engram_lab.peers.run import LINES, Bench, fill, growth, run_peers, score
from engram_peers import process
from engram_peers.loopback import Loopback
from engram_peers.own import BM25, Hybrid, Last, Sentences, Whole
from engram_peers.process import Limits, Peer, PeerFailure, make_environment
from engram_peers.vector_store import VectorStore
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.formats.messages import Session, to_messages
from tests.fake_server import FakeServer, Reply

TREES = [
    {"id": str(at), "role": role, "speaker": "Ana", "text": text, "captions": []}
    for at, (role, text) in enumerate(
        [("user", "The soil is clay. I planted three apple trees."), ("assistant", "Three apple trees!"),
         ("assistant", "Bees sleep.")]
    )
]  # fmt: skip
ASKED = {"text": "three apple trees", "thread": []}
SAID = Session("s", to_messages([{"role": "user", "text": "My sister sells cider.", "external_id": "1"}]))
CIDER = Asked(question="Who sells cider?", gold="my sister", needed={"1": {"1": ["My sister sells cider."]}})


@pytest.fixture
def bench():
    """What systems are given; each is a process of `peer.py` that behaves as it is called."""
    lab = Path(__file__).parents[1]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(lab), os.environ.get("PYTHONPATH", "")])}

    def start(name, limits):
        if name == "absent":
            raise PeerFailure("does not install: no such package")
        return Peer([sys.executable, str(lab / "tests" / "peer.py"), name], variables, limits)

    with Loopback(HashingEncoder(), None, {}) as served:
        own = {"encoder": "hashing", "vectors": None, "variables": {}}
        yield Bench({True: served, False: served}, own, 8, limits=Limits(seconds=5, memory_mib=400), start=start)


@pytest.mark.parametrize(
    ("store", "best"),
    [(VectorStore, "102"), (BM25, "102"), (Hybrid, "102"), (Last, "210"), (Whole, "012"), (Sentences, "00")],
)  # fmt: skip
def test_the_floors_rank_turns(store, best):
    """By vectors, by words, by both, or by age alone; a sentence costs less than its turn."""
    floor = store(HashingEncoder().encode)

    stored = floor.remember("u", TREES)
    found = floor.search("u", ASKED, 500)

    assert (stored, [passage["ids"] for passage in found]) == (len(best), [[turn] for turn in best])
    assert store is not Sentences or "planted" in found[0]["text"]


def test_what_is_too_long_is_passed_over():
    """The tokens are filled by what is behind it."""
    passages = [Passage(text=text, turn_ids=[text[:1]]) for text in ("a " * 30, "b b", "c c")]

    assert [passage.turn_ids for passage in fill(passages, 6)] == [["b"], ["c"]]


@pytest.mark.parametrize(
    ("shown", "changed", "forgotten"),
    [(["old", "new"], 0, 0), (["new", "old"], 1, 0), (["new"], 1, 1), (["old"], 0, 0), ([], 0, 1), (["both"], 1, 0)],
)
def test_the_newest_value_stands_first_and_what_is_forgotten_nowhere(shown, changed, forgotten):
    """A passage that shows both at once is right; without citations its words tell what it holds."""
    texts = {"old": "The code is 4417.", "new": "The code is 9023.", "both": "It was 4417, now 9023."}
    passages = [Passage(text=texts[name], turn_ids=[]) for name in shown]
    code = Asked(question="Code?", gold="", needed={"2": {"2": ["9023"]}}, stale={"1": ["4417"]})

    assert score(code, passages) == changed
    assert score(code.model_copy(update={"needed": {}}), passages) == forgotten


def test_who_fails_has_a_row_and_the_rest_is_reported(bench, tmp_path):
    """It hangs, dies, raises, takes too much memory, writes nothing or does not install; a rerun tries these alone."""
    systems = ["hangs", "dies", "raises", "hoards", "forgets", "absent", "mute", "works"]
    sets = {"talks": [Conversation(name, [SAID], [CIDER]) for name in ("a", "b")], "growth": growth([20])}

    lines = run_peers(sets, systems, bench, {}, tmp_path)
    again = run_peers(sets, systems[4:], replace(bench, failed={}), {}, tmp_path)

    said = {line.system: line.failure for line in lines if line.data == "talks"}
    assert said == {
        "hangs": "remember: no answer within 5 s",
        "dies": "ended with status 3: out of paper",
        "raises": "remember: ValueError: no pen",
        "hoards": "remember: held over 400 MiB",
        "forgets": "wrote nothing",
        "absent": "does not install: no such package",
        "mute": "",
        "works": "",
    }
    figures = report(lines, sets, {"data": {}, "seed": 0})
    rows = figures["evidence"]["talks"]
    assert {name: row["within"]["250"] for name, row in rows.items()} == {name: [1, 1, 1] for name in ("mute", "works")}
    assert figures["costs"]["growth 20"]["works"]["memory_mib"] > 0
    page = markdown(figures, systems, ".")
    assert "| raises | talks, growth 20 | remember: ValueError: no pen |" in page
    assert "cider" not in page
    assert [line for line in again if not line.failure] == [line for line in lines if line.system in systems[6:]]
    assert (tmp_path / LINES).read_text().count("\n") == len(lines)


def test_what_does_not_install_says_so(tmp_path, monkeypatch):
    """In the words of pip; what was begun is made anew."""
    drivers = tmp_path / "drivers" / "none"
    drivers.mkdir(parents=True)
    (drivers / "requirements.txt").write_text("no-such-package-here==1.0\n")
    monkeypatch.setattr(process, "DRIVERS", drivers.parent)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(process.venv, "create", lambda folder, **_: _borrow_interpreter(folder))

    with pytest.raises(PeerFailure, match="does not install: ERROR: No matching distribution found for no-such"):
        make_environment("none", tmp_path / "made")


def _borrow_interpreter(folder):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "bin" / "python").chmod(0o755)


def test_others_are_served_the_encoder_and_their_calls_are_counted():
    """A model that is not configured is refused."""
    with FakeServer([Reply("Hello")]) as chat, Loopback(HashingEncoder(), None, {}) as free:
        assert len(_post(free, "embeddings", {"input": ["a", "b"]})["data"]) == 2
        with pytest.raises(HTTPError, match="401"):
            _post(free, "chat/completions", {"model": "m", "messages": []})
        with Loopback(HashingEncoder(), "m", {"OPENAI_BASE_URL": chat.url}) as paid:
            _post(paid, "chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})

    assert paid.usage == {"calls": 1, "prompt_tokens": 7, "completion_tokens": 3}


def _post(served, path, body):
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{served.url}/{path}", json.dumps(body).encode(), headers)) as answered:
        return json.load(answered)


@pytest.mark.parametrize(("own", "below"), [(0.5, ["talks"]), (0.69, []), (0.8, [])])
def test_a_memory_may_not_show_less_than_vectors_alone(own, below):
    """Within two points of the better of both, at a thousand tokens."""
    shares = {"engram": own, "turns": 0.7, "sentences": 0.6, "bm25": 0.9}
    within = {name: dict.fromkeys(("250", "500", "1000", "2000"), (share, 0, 1)) for name, share in shares.items()}
    rows = {"talks": {name: {"within": budgets} for name, budgets in within.items()}}

    assert below_floor(rows, ["talks"]) == below
    [first, *_] = losses({"beam": rows["talks"]})
    assert (first[:3], first[3][0]) == (("beam", 250, own), ("bm25", 0.9))


def test_three_are_compared_and_a_model_answers_from_what_each_showed(engram, locomo_file, tmp_path, monkeypatch):
    """Status 1 below the floor, with the data sets on stderr; figures, page and plots hold no text of a data set.

    The judge is shown question, reference and answer, blind; a system is named in neither prompt.
    """
    monkeypatch.setattr("engram_lab.asked.read_people", lambda split: [])
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    options = ["--systems", "engram,turns,sentences", "--locomo", str(locomo_file), "--encoder", "hashing", "--json"]
    options += ["--conversations", "1", "--out", str(tmp_path / "out")]
    models = ["--model", "openai:fake", "--judge", "openai:fake"]

    with FakeServer(otherwise=Reply('{"label": "CORRECT"}')) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        code, document, said = engram("bench", "peers", *options, *models)
        monkeypatch.setattr("engram_lab.peers.report.TOLERANCE", -1.1)
        failed, _, err = engram("bench", "peers", *options, *models)
        told = json.dumps([request["messages"] for request in chat.requests])

    figures, three = json.loads(document), ("engram", "turns", "sentences")
    assert (code, failed) == (0, 1), said
    assert "below plain vector search: locomo" in err
    assert {name: row["asked"] for name, row in figures["evidence"]["locomo"].items()} == dict.fromkeys(three, 3)
    assert figures["evidence"]["locomo"]["turns"]["within"]["2000"][0] == 1.0
    assert "cider" not in (tmp_path / "out" / "peers.md").read_text()
    assert {path.stem for path in (tmp_path / "out").glob("*.svg")} == {"peers-tokens", "peers-cost", "peers-size"}
    judged = figures["judged"]["readers"]
    assert {name: (of["questions"], of["accuracy"]) for name, of in judged.items()} == dict.fromkeys(three, (4, 1.0))
    assert ("My sister Runa sells cider" in told, "engram" in told) == (True, False)


def test_a_system_that_nobody_knows_is_refused(engram):
    """The names that are known are told."""
    code, _, err = engram("bench", "peers", "--systems", "engram,elephant")

    assert (code, "nothing is known of elephant: compare some of engram, dimmem" in err) == (2, True)
