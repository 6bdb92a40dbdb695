"""A run that was cut short goes on where it was, and ends with the lines of one that was not."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engram_lab.benches import LocomoLine, run_locomo, run_longmemeval
from engram_lab.resume import open_run
from lab.tests import mortal
from langgraph_engram.errors import InvalidInput, ModelUnavailable, UnreadableFile

TOOK = ("seconds", "resumed", "peak_memory_mib")
"""Figures that no two runs have in common."""


@pytest.fixture(scope="module")
def killed():
    """Run benchmarks until they kill themselves, and return their lines, the last of them torn."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, mortal.__file__], text=True, **pipes) as process:

        def kill(command, file, out, call, number):
            process.stdin.write(json.dumps([command, str(file), str(out), call, number]) + "\n")
            process.stdin.flush()
            assert int(process.stdout.readline()) == -signal.SIGKILL
            path = out / "questions.jsonl"
            lines = path.read_text().splitlines() if path.exists() else []
            with path.open("a") as torn:
                torn.write('{"answer":"Runa, her')
            return lines

        yield kill


def lines_of(out):
    return (Path(out) / "questions.jsonl").read_text().splitlines()


@pytest.mark.parametrize(
    ("command", "call", "number", "known"),
    [("locomo", "remember", 3, 4), ("locomo", "recall", 6, 5), ("longmemeval", "recall", 2, 1)],
)
def test_a_run_that_was_killed_goes_on_to_the_same_lines(
    killed, locomo_file, haystacks_file, without_times, tmp_path, command, call, number, known
):
    """Killed between the sessions of a conversation, or while a question is asked: nothing is lost, nothing differs."""
    file = locomo_file if command == "locomo" else haystacks_file
    run, setup = mortal.RUNS[command], mortal.setup()
    whole = run(file, setup, out=tmp_path / "whole")

    before = killed(command, file, tmp_path / "killed", call, number)
    after = run(file, setup, out=tmp_path / "killed")

    assert len(before) == known
    assert lines_of(tmp_path / "killed")[:known] == before
    assert without_times(lines_of(tmp_path / "killed")) == without_times(lines_of(tmp_path / "whole"))
    assert after["resumed"] == known
    assert {name: after[name] for name in after if name not in TOOK} == {
        name: whole[name] for name in whole if name not in TOOK
    }


def test_a_higher_limit_adds_questions(locomo_file, setup, tmp_path):
    """Lines are in the order of the questions, and the figures are of those that were asked for."""
    run_locomo(locomo_file, setup, limit=2, out=tmp_path)
    run_locomo(locomo_file, setup, limit=6, out=tmp_path)

    few = run_locomo(locomo_file, setup, limit=2, out=tmp_path)

    asked = [(line["sample"], line["index"]) for line in map(json.loads, lines_of(tmp_path))]
    assert asked == [*(("talk-1", index) for index in range(4)), ("talk-2", 0), ("talk-2", 1)]
    assert few["questions"] == 2


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"reader": "another"}, 'model was "words", is "another"'),
        ({"settings": {"retrieve": {"top_k": 7}}}, "settings.retrieve.top_k was None, is 7"),
    ],
)
def test_a_folder_of_other_settings_is_refused(locomo_file, setup, opened, tmp_path, change, named):
    """The error says which; the lines are those of before, and nothing is opened."""
    run_locomo(locomo_file, setup, out=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.json*")}
    opened.clear()

    with pytest.raises(InvalidInput, match="holds a run of other settings") as refused:
        run_locomo(locomo_file, replace(setup, **change), out=tmp_path)

    assert named in str(refused.value)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json*")} == before
    assert opened == {}


def test_a_folder_whose_origin_is_unknown_is_refused(locomo_file, setup, tmp_path):
    """Lines without settings, and settings that are none."""
    (tmp_path / "questions.jsonl").write_text("{}\n")
    with pytest.raises(UnreadableFile, match=r"no run.json that says how it was made: give another folder"):
        run_locomo(locomo_file, setup, out=tmp_path)

    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UnreadableFile, match="is no JSON"):
        run_locomo(locomo_file, setup, out=tmp_path)

    assert (tmp_path / "questions.jsonl").read_text() == "{}\n"


def test_a_folder_that_another_run_writes_to_is_refused(locomo_file, setup, tmp_path):
    """Both would ask the same questions; when the first is done the second may begin."""
    with open_run(tmp_path, {}, LocomoLine), pytest.raises(InvalidInput, match="another run writes"):
        run_locomo(locomo_file, setup, out=tmp_path)

    (tmp_path / "run.json").unlink()
    assert run_locomo(locomo_file, setup, out=tmp_path)["questions"] == 8


def test_questions_that_no_name_distinguishes_are_refused(locomo_file, haystacks_file, setup, opened):
    """Two conversations or questions of one name would share their lines."""
    for path, name, run in ((locomo_file, "talk-1 0", run_locomo), (haystacks_file, "q0", run_longmemeval)):
        first, *_ = json.loads(path.read_text())
        path.write_text(json.dumps([first, first]))
        with pytest.raises(UnreadableFile, match=f"has two questions '{name}'"):
            run(path, setup)

    assert opened == {}


@pytest.mark.parametrize("command", ["locomo", "longmemeval"])
def test_questions_that_are_asked_at_once_leave_the_same_lines(
    locomo_file, haystacks_file, without_times, tmp_path, command
):
    """Three at once: the same lines, in the order of the questions."""
    file = haystacks_file if command == "longmemeval" else locomo_file
    for name, concurrency in (("one", 1), ("three", 3)):
        mortal.RUNS[command](file, mortal.setup(), out=tmp_path / name, concurrency=concurrency)

    assert without_times(lines_of(tmp_path / "three")) == without_times(lines_of(tmp_path / "one"))


def test_a_model_that_fails_loses_no_other_line(locomo_file, setup, opened, tmp_path):
    """What was answered before it failed is on disk, and is not asked again."""

    def fail(query, **_):
        raise ModelUnavailable("no answer")

    run_locomo(locomo_file, setup, limit=2, out=tmp_path)
    [memory] = opened.values()
    recall, memory.recall = memory.recall, fail
    with pytest.raises(ModelUnavailable):
        run_locomo(locomo_file, setup, out=tmp_path)
    memory.recall = recall

    assert len(lines_of(tmp_path)) == 2
    assert run_locomo(locomo_file, setup, out=tmp_path)["resumed"] == 2
