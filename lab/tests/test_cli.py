"""`engram bench` measures a memory on a file, and prints the figures as one document."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from time import sleep

import pytest

from engram_lab import against, speed
from engram_lab.opening import Opener
from langgraph_engram.embeddings.factory import open_encoder
from tests.fake_server import FakeServer, Reply

CALL_MAIN = "from langgraph_engram.cli.main import main; main()"
LOCOMO = [
    {
        "sample_id": "pair-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "9:00 am on 2 April, 2024",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "I planted three apple trees yesterday."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "How lovely! I keep bees."},
            ],
        },
        "qa": [{"question": "What did Ana plant?", "answer": "apple trees", "evidence": ["D1:1"], "category": 4}],
    }
]
LONGMEMEVAL = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "What did I plant?",
    "answer": "apple trees",
    "question_date": "2024/04/09 (Tue) 08:00",
    "haystack_session_ids": ["answer_1", "other"],
    "haystack_dates": ["2024/04/02 (Tue) 09:00", "2024/04/03 (Wed) 09:00"],
    "haystack_sessions": [
        [{"role": "user", "content": "I planted three apple trees.", "has_answer": True}],
        [{"role": "user", "content": "How do bees sleep?"}, {"role": "assistant", "content": "At night, in the hive."}],
    ],
    "answer_session_ids": ["answer_1"],
}


def test_longmemeval_is_measured_under_the_settings_that_the_paper_has_for_it(engram, tmp_path):
    """DimMem has W, O and k of its own for it (Table 11); other data sets have the preset as it is."""
    made_with = {}
    for name, data in (("longmemeval", [LONGMEMEVAL]), ("locomo", LOCOMO)):
        path, out = tmp_path / f"{name}.json", tmp_path / name
        path.write_text(json.dumps(data))
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


def test_reading_is_measured(engram, tmp_path):
    """Every reader has its figures, and each leaves a line."""
    path, out = tmp_path / "locomo.json", tmp_path / "out"
    path.write_text(json.dumps(LOCOMO))

    code, document, _ = engram(
        "bench", "reading", str(path), "--preset", "engram", "--preset", "esmem", "--out", str(out), "--json"
    )

    figures = json.loads(document)
    assert code == 0
    assert (figures["model"], list(figures["readers"])) == ("rules", ["engram", "esmem", "turns", "gold"])
    assert figures["readers"]["engram"]["questions"] == 1
    assert len((out / "questions.jsonl").read_text().splitlines()) == 4


def test_answers_that_a_killed_writer_paid_for_are_not_paid_again(engram, tmp_path, monkeypatch):
    """Killed while its model answers for the third of four sessions: the first two are written anew at no cost."""
    path = tmp_path / "locomo.json"
    sessions = {f"session_{number}": LOCOMO[0]["conversation"]["session_1"] for number in range(1, 5)}
    dates = {f"session_{number}_date_time": f"9:00 am on {number} April, 2024" for number in range(1, 5)}
    path.write_text(json.dumps([{**LOCOMO[0], "conversation": {**sessions, **dates}}]))
    command = ["bench", "locomo", str(path), "--preset", "hymem", "--writer", "openai:x", "--reader", "rules", "--json"]
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


def test_writer_reader_and_encoder_are_part_of_a_run(engram, tmp_path):
    """They are reported and kept; a run with another encoder is refused on one line, and changes nothing."""
    path, out = tmp_path / "locomo.json", tmp_path / "out"
    path.write_text(json.dumps(LOCOMO))
    options = ["bench", "locomo", str(path), "--writer", "rules", "--reader", "rules", "--out", str(out), "--json"]

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
    assert "search_of_20_to_200" in figures["ratios"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_speed_is_compared_with_others(engram, tmp_path, monkeypatch):
    """Each memory stores the same texts, is asked for them and finds them; the figures can be drawn."""
    monkeypatch.setattr(against, "QUESTIONS", 5)
    options = ["bench", "speed", "--records", "40", "--encoder", "hashing", "--json"]

    code, document, _ = engram(*options, "--against", "langmem,chroma,rank-bm25")

    figures = json.loads(document)
    assert (code, figures["texts"], figures["questions"]) == (0, 40, 5)
    for name in ("engram", "langmem", "chroma", "rank-bm25"):
        assert figures[name]["found"] == 1
        assert figures[name]["store"]["cpu_p50_ms"] >= 0
    pytest.importorskip("matplotlib")
    against.draw_against(figures, tmp_path / "figure.svg")
    assert "rank-bm25" in (tmp_path / "figure.svg").read_text()


def test_what_is_not_installed_is_named(engram, monkeypatch):
    """Before anything is stored, in one line with what to install."""
    monkeypatch.setattr(against, "find_spec", lambda name: None)

    code, out, err = engram("bench", "speed", "--records", "40", "--encoder", "hashing", "--against", "mem0")

    assert (code, out, err) == (1, "", "engram: mem0 is not installed: pip install mem0ai\n")


@pytest.mark.parametrize(("dataset", "style"), [("locomo", "short"), ("longmemeval", "short"), ("beam", "auto")])
def test_answers_are_as_long_as_those_they_are_compared_with(dataset, style):
    """A few words where the right answer is a name or a date; a summary where rubrics ask for one."""
    setup = Opener({}).setup(dataset, None, "rules", "rules", open_encoder("hashing"))

    assert setup.settings["answer"]["style"] == style
