"""The notebook runs from its first cell to its last, and the template is a graph with memory wherever it is copied."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NOTEBOOK = EXAMPLES / "memory_in_an_agent.ipynb"


def printed(notebook):
    """What each cell of code prints, as one text."""
    return [
        "".join("".join(output.get("text", "")) for output in cell.outputs if output.get("name") != "stderr")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.timeout(300)
def test_the_notebook_prints_what_it_shows(monkeypatch):
    """Without a key, on a memory of its own: the outputs in the file are those of a run."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    for name in ("ENGRAM_MODEL", "ENGRAM_PRESET", "ENGRAM_SETTINGS", "ENGRAM_ENCODER"):
        monkeypatch.delenv(name, raising=False)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    shown = printed(notebook)

    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()

    now = printed(notebook)
    assert [line for line in now if "202" not in line] == [line for line in shown if "202" not in line]
    assert "light_retrieve: " in "".join(now)
    assert "Runa lives in Oslo" in now[-3]
    assert "residue: []" in now[-2]


def test_the_notebook_needs_no_output_of_a_person():
    """No path, key or trace is left in it."""
    text = NOTEBOOK.read_text(encoding="utf-8")

    assert not any(word in text for word in ("Traceback", "/home", "/root", "/work", "/tmp"))
    assert all(not cell["metadata"] for cell in json.loads(text)["cells"])


@pytest.mark.timeout(300)
def test_the_template_runs_where_it_is_copied_to(tmp_path):
    """The lines of its README answer from an earlier thread, and its langgraph.json names the graph that is there."""
    copy = Path(shutil.copytree(EXAMPLES / "template", tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__")))
    lines = (copy / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    [path] = json.loads((copy / "langgraph.json").read_text(encoding="utf-8"))["graphs"].values()
    file, name = path.split(":")
    code = f"{lines}\nimport {Path(file).stem}; assert type(chat.{name}).__name__ == 'CompiledStateGraph'"

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy,
        env={"PYTHONPATH": str(EXAMPLES.parent), "ENGRAM_ENCODER": "hashing"},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert "We camped at Lake Bled" in done.stdout.split("From memory:")[2]
    assert (copy / "engram-data").is_dir()
