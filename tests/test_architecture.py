"""The folders are the architecture: imports point only downwards, inside `nodes/` too, and never in a circle."""

import ast
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import langgraph_engram

PACKAGE = Path(langgraph_engram.__file__).parent
ROOT = PACKAGE.parent
FOLDERS = ("graphs", "nodes", "prompts", "stores")
"""The folders that stand at the top of the repository."""
LAYERS: tuple[tuple[str, ...], ...] = (
    ("schema", "errors", "asynchronous"),
    ("paper_settings", "temporal", "filters"),
    ("settings",),
    ("text", "results", "logistic"),
    ("state", "embeddings", "llm"),
    ("prompts",),
    ("stores", "rule_model"),
    ("pending", "screening", "tracing"),
    ("branches",),
    ("alignment",),
    ("segmentation",),
    ("extraction",),
    ("consolidation",),
    ("retrieval",),
    ("summarization",),
    ("papers",),
    ("nodes",),
    ("graphs", "formats"),
    ("requests",),
    ("presets",),
    ("config",),
    ("runner",),
    ("profile",),
    ("history",),
    ("erasure",),
    ("doctor",),
    ("memory",),
    ("integrations",),
    ("server", "testing"),
    ("cli",),
    ("__init__",),
)
"""The parts of the package from the lowest to the highest; a part imports only parts of lower rows, or itself."""
FORBIDDEN = {
    **{(part, other): "algorithms know no state" for other in ("state", "alignment", "branches") for part in
       ("segmentation", "extraction", "consolidation", "retrieval", "summarization")},
    ("nodes", "rule_model"): "a node asks a `Model`",
    ("nodes", "papers"): "a node is given its parts",
    ("graphs", "rule_model"): "a graph is given its models",
    ("graphs", "prompts"): "a graph wires, and asks nothing",
    ("stores", "prompts"): "a store asks nothing",
}  # fmt: skip
"""Imports that would point down, and are not wanted all the same."""
MOST_LINES = 500
MOST_FILES = 190


def source_files() -> list[Path]:
    inside = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in FOLDERS]
    return inside + [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]


def module_name(path: Path) -> str:
    base = PACKAGE if path.is_relative_to(PACKAGE) else ROOT
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(("langgraph_engram", *parts)).removesuffix(".__init__")


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports_of(source: str, known: Iterable[str]) -> set[str]:
    """Return the names of the modules that a source imports; of ours, each as the module that is meant."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inner & set(known) or {node.module}
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


@pytest.fixture(scope="module")
def modules() -> dict[str, set[str]]:
    """What each module of ours imports."""
    paths = {module_name(path): path for path in source_files()}
    return {name: imports_of(path.read_text(encoding="utf-8"), paths) for name, path in paths.items()}


def offences(modules: Mapping[str, Iterable[str]]) -> list[str]:
    """Return every import that does not point down, or is forbidden."""
    height = {part: row for row, parts in enumerate(LAYERS) for part in parts}
    found = []
    for module, names in modules.items():
        part = part_of(module)
        for name in sorted(name for name in names if name.split(".")[0] == "langgraph_engram"):
            other = part_of(name)
            if part == other == "nodes" and name != module:
                found.append(f"{module} imports the node {name}")
            elif part != other and height[other] >= height[part]:
                found.append(f"{module} imports {name}, which does not stand lower")
            elif (part, other) in FORBIDDEN:
                found.append(f"{module} imports {name}: {FORBIDDEN[part, other]}")
    return found


def circle(modules: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the modules of a circle of imports; none where there is no circle."""
    try:
        TopologicalSorter({name: set(names) & modules.keys() - {name} for name, names in modules.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_point_down(modules):
    """No part imports what stands above it, no node another node, no algorithm the state."""
    assert offences(modules) == []


def test_no_circle(modules):
    """No module imports itself by way of others."""
    assert circle(modules) == []


def test_a_planted_offence_and_a_planted_circle_are_found(modules):
    """The two tests above can fail: an arrow up, an arrow between nodes and a circle are found."""
    segment, verify = "langgraph_engram.nodes.segment", "langgraph_engram.nodes.verify"
    between = {**modules, segment: {*modules[segment], verify}, verify: {*modules[verify], segment}}
    up = {**modules, "langgraph_engram.text.words": {"langgraph_engram.memory"}}

    assert len(offences(between)) == 2
    assert {segment, verify} <= set(circle(between))
    assert len(offences(up)) == 1
    assert "langgraph_engram.text.words" in circle(up)


def test_every_part_has_its_layer(modules):
    """Nothing stands outside of the drawing of the layers."""
    assert {part_of(module) for module in modules} == {part for parts in LAYERS for part in parts}


def test_nothing_imports_the_public_package_or_a_folder_by_its_bare_name(modules):
    """A name is imported from the module that defines it."""
    bare = {"langgraph_engram", *FOLDERS}

    guilty = {
        module for module, names in modules.items() if {n for n in names if n.split(".")[0] in FOLDERS or n in bare}
    }

    assert guilty <= {"langgraph_engram.cli.main"}


def test_every_question_has_its_rule():
    """Each question of `prompts/` is answered by a rule."""
    from langgraph_engram.llm.base import Question
    from langgraph_engram.rule_model.model import RULES

    for path in (ROOT / "prompts").glob("[a-z]*.py"):
        __import__(f"langgraph_engram.prompts.{path.stem}")

    assert set(RULES) == {
        kind for kind in Question.__subclasses__() if kind.__module__.startswith("langgraph_engram.prompts")
    }


def test_files_are_one_idea_each():
    """No file is longer than a reader can hold, and there are not too many beside the markers of packages."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}

    assert {module_name(path): count for path, count in lines.items() if count > MOST_LINES} == {}
    assert sum(path.name != "__init__.py" for path in lines) <= MOST_FILES
