"""The command line fails in one line, keeps its exit codes, and imports nothing heavy before a command runs."""

import json
import os
import signal
import subprocess
import sys

import pytest

from langgraph_engram.cli.main import COMMANDS, run

CALL_MAIN = "from langgraph_engram.cli.main import main; main()"
BUG = f"""
import langgraph_engram.cli.main as cli

def run(arguments):
    raise ZeroDivisionError("division by\\nzero")

cli.run = run
{CALL_MAIN}
"""
INTERRUPTS = 20


def test_help_groups_the_commands_and_shows_defaults(capsys):
    """Each command stands in one group; a default that comes from elsewhere is shown as well; so is the version."""
    run(["--version"])
    assert capsys.readouterr().out.startswith("engram ")
    run(["--help"])
    overview = capsys.readouterr().out
    run(["recall", "--help"])
    options = " ".join(capsys.readouterr().out.replace("│", " ").split())

    assert all(panel in overview for panel in COMMANDS)
    assert "Commands" not in overview
    assert all(f"[default: {default}]" in options for default in ("rules", "engram", "./engram-data"))


def test_json_after_a_bare_dash_dash_is_no_option(capsys):
    """A question may read "--json": what follows "--" is no option."""
    code = run(["recall", "--now", "never", "--user", "ana", "--", "--json"])

    assert code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("debug", "options"), [("", []), ("", ["--json"]), ("1", [])])
def test_an_error_nobody_foresaw_is_called_a_bug(debug, options):
    """It is reported on one line, with its kind and with how to see more: a traceback only under ENGRAM_DEBUG."""
    command, variables = [sys.executable, "-c", BUG, "demo", *options], {**os.environ, "ENGRAM_DEBUG": debug}

    done = subprocess.run(command, capture_output=True, text=True, env=variables)

    assert (done.returncode, "Traceback" in done.stderr, bool(done.stdout)) == (1, bool(debug), bool(options))
    assert debug or "this is a bug: ZeroDivisionError: division by zero" in done.stderr
    assert debug or ("ENGRAM_DEBUG=1" in done.stderr and done.stderr.count("\n") == 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory without variables of ours."""
    monkeypatch.chdir(tmp_path)
    for name in ("STORE", "USER", "MODEL", "PRESET", "ENCODER", "SETTINGS", "CHAT"):
        monkeypatch.delenv(f"ENGRAM_{name}", raising=False)
    return tmp_path


def status(capsys, *arguments):
    """The lines of `engram status`, by their names."""
    capsys.readouterr()
    assert run(["status", *arguments]) == 0
    return {line.split()[0]: " ".join(line.split()[1:]) for line in capsys.readouterr().out.splitlines()}


def test_a_file_names_what_options_and_variables_do_not(folder, capsys, monkeypatch):
    """An option comes before a variable, that before the file, that before the default; status says which it was."""
    (folder / "engram.toml").write_text(
        'store = "notes"\nuser = "ana"\npreset = "hymem"\nencoder = "hashing"\n[settings.retrieve]\nbudget = 500\n'
    )
    (folder / "chat.txt").write_text("Ana: I keep bees.\nBen: Since when?\nAna: Since 2019.\n")
    before = dict(os.environ)
    assert run(["remember", "chat.txt"]) == 0

    lines = status(capsys)
    monkeypatch.setenv("ENGRAM_PRESET", "dimmem")
    by_variable = status(capsys)
    by_option = status(capsys, "--preset", "esmem")
    run(["recall", "bees", "--search", "--json"])

    assert lines["turns"] == "3"
    assert (lines["store"], lines["preset"]) == ("notes (engram.toml)", "hymem (engram.toml)")
    assert (lines["encoder"], lines["model"]) == ("hashing-256 (engram.toml)", "rules (default)")
    assert by_variable["preset"] == "dimmem (ENGRAM_PRESET)"
    assert by_option["preset"] == "esmem (--preset)"
    assert json.loads(capsys.readouterr().out)["evidence"]
    assert {**os.environ, "ENGRAM_PRESET": ""} == {**before, "ENGRAM_PRESET": ""}


def test_a_named_file_counts_folders_from_its_own(folder, capsys):
    """--config reads another file, whose store lies beside it; --encoder comes before it."""
    (folder / "work").mkdir()
    (folder / "work" / "my.toml").write_text('store = "notes"\nuser = "ana"\nencoder = "minilm"\n')
    (folder / "chat.txt").write_text("Ana: I keep bees.\nBen: Since when?\nAna: Since 2019.\n")

    code = run(["--config", "work/my.toml", "--encoder", "hashing", "remember", "chat.txt"])

    assert code == 0
    assert (folder / "work" / "notes").is_dir()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('stoer = "x"', "unknown name 'stoer': give texts for store, user, model, preset, encoder"),
        ("store = 3", "store is 3: give texts for store"),
        ('store = "x', "cannot be read"),
        ("[settings.retrieve]\nbudget = 0", "or the table of engram.toml"),
        ("[settings.retreive]\nbudget = 900", "retreive: there is no such name"),
        ('preset = "gold"', "'gold'"),
    ],
)
def test_a_bad_file_is_one_line(folder, capsys, content, problem):
    """It names the file or the setting, and nothing is opened."""
    (folder / "engram.toml").write_text(content)

    code = run(["demo"])

    printed = capsys.readouterr()
    assert (code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert problem in printed.err
    assert [path.name for path in folder.iterdir()] == ["engram.toml"]


def test_completion_completes():
    """A shell that asks is told commands."""
    asking = os.environ | {"_ENGRAM_COMPLETE": "complete_bash", "COMP_WORDS": "engram rem", "COMP_CWORD": "1"}

    asked = subprocess.run([sys.executable, "-c", CALL_MAIN], capture_output=True, text=True, env=asking)

    assert asked.stdout.split() == ["remember"]


def heed():
    """Heed Ctrl-C even where the tests run in the background, whose processes are started deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(process):
    """Press Ctrl-C until the process ends: one that comes between two calls may be swallowed by the interpreter."""
    for _ in range(INTERRUPTS):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=3)[1]
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    return process.communicate()[1]


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes and SIGINT are POSIX")
def test_an_interrupt_is_one_line_and_code_130(tmp_path):
    """Who presses Ctrl-C while a file is read gets one line, no traceback."""
    pipe = tmp_path / "conversation.json"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", CALL_MAIN, "remember", str(pipe), "--user", "ana"]

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed) as process, pipe.open("w"):
        err = interrupt(process)

    assert process.returncode == 130
    assert err == "engram: interrupted\n"


def test_an_option_of_all_commands_behind_one_is_shown_its_place(capsys):
    """It was not misspelt."""
    assert run(["recall", "Where?", "--user", "ana", "--encoder", "hashing"]) == 2
    assert capsys.readouterr().err == "engram: --encoder stands before the command: engram --encoder ... recall\n"
