"""What the README shows is what happens."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_quickstart_runs_and_prints_what_it_says(tmp_path, monkeypatch):
    """The twenty lines run as they stand, with the encoder that users get."""
    code = re.search(r"<!-- quickstart -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    promised = re.search(r"<!-- quickstart output -->\n```text\n(.*?)```", README, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    for name in ("ENGRAM_STORE", "ENGRAM_MODEL", "ENGRAM_ENCODER", "ENGRAM_PRESET"):
        monkeypatch.delenv(name, raising=False)
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})

    assert printed.getvalue() == promised


def test_the_store_does_what_is_shown(tmp_path, monkeypatch):
    """With the encoder that users get."""
    code = re.search(r"<!-- store -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    promised = re.search(r"<!-- store output -->\n```text\n(.*?)```", README, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENGRAM_ENCODER", raising=False)
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})

    assert printed.getvalue() == promised


@pytest.mark.parametrize("name", ["remember", "recall"])
def test_the_drawings_are_fresh(name):
    """Both graphs are shown as LangGraph draws them now; `make docs` refreshes them."""
    spec = importlib.util.spec_from_file_location("refresh_readme", ROOT / "docs" / "refresh_readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    drawing = module.drawings()[name]

    assert f"<!-- graph: {name} -->\n```mermaid\n{drawing}\n```" in README


def test_every_command_in_the_readme_exists():
    """A reader can type what stands there."""
    from langgraph_engram.cli import run

    for command in sorted(set(re.findall(r"^engram (\w+)", README, re.MULTILINE))):
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            assert run([command, "--help"]) == 0
        assert "Usage" in shown.getvalue()
