"""What is installed is what stands in the tree."""

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from langgraph_engram.memory import Memory

ROOT = Path(__file__).parent.parent
TOP = ("graphs", "nodes", "prompts", "stores")


def sources() -> set[str]:
    own = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "langgraph_engram").rglob("*")
        if path.is_file() and path.suffix in (".py", ".json", ".typed", ".onnx", ".npz", ".html", ".css")
        and path.relative_to(ROOT / "langgraph_engram").parts[0] not in TOP
    }  # fmt: skip
    folders = {
        f"langgraph_engram/{path.relative_to(ROOT).as_posix()}"
        for folder in TOP
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".json")
    }
    return {name for name in own | folders if "__pycache__" not in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of this tree, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    return build_wheel(copy_of_tree(folder / "checkout"), folder / "out")


def copy_of_tree(tree: Path) -> Path:
    """Copy what is under version control, as a fresh checkout has it: an earlier build would leave its files."""
    left_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    return Path(shutil.copytree(ROOT, tree, symlinks=True, ignore=left_out))


def build_wheel(tree: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(tree)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return next(out.glob("*.whl"))


def names_in(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_the_tree_and_nothing_else(wheel):
    """No generic name reaches site-packages, and nothing is left behind."""
    assert names_in(wheel) == sources()


def test_a_checkout_without_links_gives_the_same_wheel(tmp_path):
    """Where links cannot be made, git leaves a text file with the name of the folder in their place."""
    tree = copy_of_tree(tmp_path / "checkout")
    for folder in TOP:
        link = tree / "langgraph_engram" / folder
        link.unlink()
        link.write_text(f"../{folder}", encoding="utf-8")

    wheel = build_wheel(tree, tmp_path / "out")

    assert names_in(wheel) == sources()


@pytest.mark.parametrize("name", TOP)
def test_no_second_copy_of_our_folders_can_be_loaded(name):
    """A server puts the repository on Python's path: a folder of ours is imported under its full name alone."""
    done = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True)

    assert f"import langgraph_engram.{name}" in done.stderr


HEAVY = (
    *("torch", "transformers", "sentence_transformers", "onnxruntime", "tokenizers", "chromadb", "openai"),
    *("langgraph", "langchain_core", "langchain", "pydantic", "numpy", "langgraph_api", "mcp", "starlette"),
)


def imported_by(code: str) -> set[str]:
    """Return which of the heavy libraries a process that runs this code has imported at its end."""
    report = f"import json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import langgraph_engram",
        "import langgraph_engram.server",
        "from langgraph_engram.cli.main import run; run(['--help'])",
    ],
)
def test_starting_is_light(code):
    """No heavy library is imported until something is used: by the package, its server, or to show the help."""
    assert imported_by(code) == set()


def test_what_is_in_a_snapshot_is_searched_without_chroma(tmp_path):
    """A process that only searches a memory neither imports nor opens it, nor what parses long messages."""
    with Memory(tmp_path, encoder="hashing") as memory:
        memory.remember([{"role": "user", "content": "I adopted a greyhound."}], user_id="ana")

    setup = f"from langgraph_engram import Memory; memory = Memory({str(tmp_path)!r}, encoder='hashing'); "
    searched = f"{setup}assert memory.search('What dog?', user_id='ana').evidence; memory.close()"
    read = imported_by(f"{searched}\nimport sys; assert 'markdown_it' not in sys.modules")

    assert read == {"langgraph", "langchain_core", "pydantic", "numpy"}


def test_every_public_name_is_there():
    """What the package lists can be imported from it."""
    import langgraph_engram

    found = {name: getattr(langgraph_engram, name) for name in langgraph_engram.__all__}

    assert {"Memory", "EngramMiddleware", "EngramRetriever", "create_memory_tools"} <= found.keys()
    with pytest.raises(AttributeError, match="Memori"):
        langgraph_engram.Memori  # noqa: B018 - looking it up is the test


def test_the_version_is_that_of_the_distribution():
    """Nothing heavy is imported to tell it."""
    import langgraph_engram

    assert langgraph_engram.__version__ == version("langgraph-engram")
    assert imported_by("import langgraph_engram; langgraph_engram.__version__") == set()


def test_each_extra_is_described_once():
    """In the reference; the extra of developers is for a clone."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys() - {"dev"}
    rows = (ROOT / "docs/reference/settings.md").read_text().split("## Extras")[1].splitlines()

    described = [row.split("`")[1] for row in rows if row.startswith("| `")]
    assert sorted(described) == sorted(extras)


def test_a_missing_extra_is_named():
    """Without langchain, middleware and agent say what to install; tools and retriever do not need it."""
    code = """
import sys
sys.modules["langchain"] = None
from langgraph_engram import EngramRetriever, create_memory_tools
from langgraph_engram.errors import MissingExtra
for line in "from langgraph_engram import EngramMiddleware", "import langgraph_engram.integrations.agent":
    try:
        exec(line)
    except MissingExtra as error:
        print(error)
"""

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.count("pip install 'langgraph-engram[agents]'") == 2


@pytest.mark.parametrize(
    "path", sorted((ROOT / "langgraph_engram").glob("*/*_weights.json")), ids=lambda path: path.stem
)
def test_no_shipped_weight_hangs_on_rounding(path):
    """A weight of millions would multiply what a dimension holds of another machine's rounding."""
    stored = json.loads(path.read_text())
    regressions = [stored["weights"]] if "weights" in stored else [found["weights"] for found in stored.values()]
    weights = [weight for found in regressions for weight in (found if isinstance(found, list) else found.values())]

    assert max(map(abs, weights)) < 1000
