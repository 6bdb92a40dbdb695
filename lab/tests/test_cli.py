"""`engram bench` measures a memory on a file, and prints the figures as one document."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from time import sleep

import pytest

from engram_lab import speed
from engram_lab.opening import Opener
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.papers.dimmem import INTENT_RULES
from tests.fake_server import FakeServer, Reply

CALL_MAIN = "from langgraph_engram.cli.main import main; main()"


def test_longmemeval_is_measured_under_the_settings_that_the_paper_has_for_it(
    engram, locomo_file, haystacks_file, tmp_path
):
    """DimMem has W, O and k of its own for it (Table 11); other data sets have the preset as it is."""
    made_with = {}
    for name, path in (("longmemeval", haystacks_file), ("locomo", locomo_file)):
        out = tmp_path / name
        vectors = ["--vectors", str(tmp_path / "vectors")] if name == "longmemeval" else []
        code, _, _ = engram("bench", name, str(path), "--preset", "dimmem", "--out", str(out), *vectors, "--json")
        assert code == 0
        made_with[name] = json.loads((out / "run.json").read_text())["settings"]

    windows = {
        name: (held["paper"]["window"], held["paper"]["overlap"], held["paper"]["top_k"])
        for name, held in made_with.items()
    }
    assert windows == {"longmemeval": (15, 3, 20), "locomo": (25, 5, 15)}
    assert made_with["longmemeval"]["extract"] == made_with["locomo"]["extract"]


def test_a_number_of_a_paper_can_be_changed(engram, locomo_file, monkeypatch):
    """As the tables say, with ENGRAM_SETTINGS: it fits the preset that is named, and hinders nothing else."""
    monkeypatch.setenv("ENGRAM_SETTINGS", '{"paper": {"buffer_tokens": 16}}')

    code, document, _ = engram("bench", "cost", str(locomo_file), "--preset", "structmem", "--limit", "1", "--json")

    assert code == 0
    assert json.loads(document)["events"] > 2


def test_reading_is_measured(engram, locomo_file, tmp_path):
    """Every reader has its figures, and each leaves a line."""
    out = tmp_path / "out"

    code, document, _ = engram(
        "bench", "reading", str(locomo_file), "--preset", "engram", "--preset", "esmem", "--out", str(out), "--json"
    )

    figures = json.loads(document)
    assert code == 0
    assert (figures["model"], list(figures["readers"])) == ("rules", ["engram", "esmem", "turns", "gold"])
    assert figures["readers"]["engram"]["questions"] == 3
    assert len((out / "questions.jsonl").read_text().splitlines()) == 12


def test_answers_that_a_killed_writer_paid_for_are_not_paid_again(engram, locomo_file, tmp_path, monkeypatch):
    """Killed while its model answers for the third of four sessions: the first two are written anew at no cost."""
    sample, *_ = json.loads(locomo_file.read_text())
    sessions = {f"session_{number}": sample["conversation"]["session_1"] for number in range(1, 5)}
    dates = {f"session_{number}_date_time": f"9:00 am on {number} April, 2024" for number in range(1, 5)}
    locomo_file.write_text(json.dumps([{**sample, "conversation": {**sessions, **dates}}]))
    command = [
        "bench",
        "locomo",
        str(locomo_file),
        "--preset",
        "hymem",
        "--writer",
        "openai:x",
        "--reader",
        "rules",
        "--json",
    ]
    reply = Reply(json.dumps({"sentences": [{"sources": [1], "content": "Ana planted apple trees."}]}))

    with FakeServer(otherwise=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        _, whole, _ = engram(*command, "--out", str(tmp_path / "whole"))
        paid = len(server.requests)
    with FakeServer([reply, reply, replace(reply, after_seconds=100)], otherwise=reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        killed = [*command, "--out", str(tmp_path / "killed")]
        process = subprocess.Popen([sys.executable, "-c", CALL_MAIN, *killed], stdout=subprocess.DEVNULL)
        while len(server.requests) < 3 and process.poll() is None:
            sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        code, resumed, _ = engram(*killed)

    assert code == 0
    assert len(server.requests) == 1 + paid
    for figures in (json.loads(whole), json.loads(resumed)):
        assert figures["usage"]["write"]["calls"] == paid
        assert figures["written"]["stored_turns"] == 8
    assert json.loads(resumed)["usage"] == json.loads(whole)["usage"]
    assert [file.name for file in (tmp_path / "killed" / "memories").glob("*.*")] == ["0.json"]


def test_writer_reader_and_encoder_are_part_of_a_run(engram, locomo_file, tmp_path):
    """They are reported and kept; a run with another encoder is refused on one line, and changes nothing."""
    out = tmp_path / "out"
    options = [
        "bench",
        "locomo",
        str(locomo_file),
        "--writer",
        "rules",
        "--reader",
        "rules",
        "--out",
        str(out),
        "--json",
    ]

    code, document, _ = engram(*options, "--encoder", "hashing", "--concurrency", "2")
    refused, answer, said = engram(*options, "--encoder", "minilm")

    figures = json.loads(document)
    assert (code, figures["writer"], figures["model"]) == (0, "rules", "rules")
    assert (refused, said.count("\n")) == (2, 1)
    assert "holds a run of other settings (encoder was" in json.loads(answer)["error"]
    assert json.loads((out / "run.json").read_text())["settings"]["preset"] == "engram"


def test_speed_is_measured_at_two_sizes(engram, monkeypatch):
    """Of made-up memories: every step has its milliseconds, and the sizes are compared."""
    monkeypatch.setattr(speed, "MAX_SEARCHES", 2)

    code, document, _ = engram("bench", "speed", "--records", "200", "--encoder", "hashing", "--json")

    figures = json.loads(document)
    assert code == 0
    for size in ("20_records", "200_records"):
        assert set(figures[size]) == {*speed.STEPS, "memory_mb"}
        assert figures[size]["search"]["cpu_p50_ms"] > 0


def test_queries_are_measured_by_the_rules_of_their_preset():
    """DimMem's trigger (Table 6) is its own query analysis (Figure 8)."""
    setup = Opener({}).setup("longmemeval", "dimmem", "rules", "rules", open_encoder("hashing"))

    assert setup.intent_rules == INTENT_RULES


@pytest.mark.parametrize(("dataset", "style"), [("locomo", "short"), ("longmemeval", "short"), ("beam", "auto")])
def test_answers_are_as_long_as_those_they_are_compared_with(dataset, style):
    """A few words where the right answer is a name or a date; a summary where rubrics ask for one."""
    setup = Opener({}).setup(dataset, None, "rules", "rules", open_encoder("hashing"))

    assert setup.settings["answer"]["style"] == style
