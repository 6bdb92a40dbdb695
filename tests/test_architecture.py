"""The folders are the architecture: imports point only downwards."""

import ast
from pathlib import Path

import pytest

import langgraph_engram

PACKAGE = Path(langgraph_engram.__file__).parent
ROOT = PACKAGE.parent
LAYERS: dict[str, int] = {
    "schema": 0, "errors": 0, "moments": 0,
    "settings": 1, "language": 1, "results": 1, "encoder": 1, "compressor": 1, "reranker": 1,
    "state": 2, "usage": 2, "model": 2, "long_texts": 2, "narrative": 2,
    "models": 3, "encoders": 3,
    "prompts": 4, "compression": 4, "reranking": 4,
    "stores": 5, "rule_model": 5,
    "nodes": 6,
    "graphs": 7, "formats": 7,
    "configuration": 8, "runs": 8,
    "erasure": 9,
    "facade": 10,
    "memory": 11, "demo": 11, "store": 11,
    "agents": 12, "mcp_tools": 12, "testing": 12,
    "retriever": 13, "tools": 13, "benchmarks": 13,
    "middleware": 14, "training": 14,
    "agent": 15,
    "server": 16,
    "commands": 17,
    "cli": 18, "__init__": 18,
}  # fmt: skip
"""How high each part stands. A part imports only parts that stand lower, or itself."""
FORBIDDEN = {
    ("nodes", "rule_model"), ("graphs", "rule_model"), ("stores", "rule_model"), ("graphs", "prompts"),
    ("stores", "prompts"),
}  # fmt: skip
"""Imports that would point down, and are not wanted all the same."""
TOP = ("graphs", "nodes", "prompts", "stores", "benchmarks", "training")


def python_files() -> list[Path]:
    own = [
        path for path in PACKAGE.rglob("*.py") if not any(part in TOP for part in path.relative_to(PACKAGE).parts[:1])
    ]
    return own + [path for folder in TOP for path in (ROOT / folder).rglob("*.py")]


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


@pytest.mark.parametrize("path", python_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_imports_point_down(path):
    """No part imports what stands above it, nor a folder by its bare name."""
    part = part_of(path)

    names = imports_of(path)

    assert not {name.split(".")[0] for name in names} & set(TOP)
    for name in (name for name in names if name.startswith("langgraph_engram.")):
        other = name.split(".")[1]
        assert other == part or LAYERS[other] < LAYERS[part], f"{part} imports {name}"
        assert (part, other) not in FORBIDDEN, f"{part} imports {name}"


def test_nothing_imports_the_public_package():
    """A name is imported from the module that defines it."""
    guilty = [path for path in python_files() if "langgraph_engram" in imports_of(path)]

    assert [path.name for path in guilty if path.name != "cli.py"] == []


@pytest.mark.parametrize("folder", TOP)
def test_a_link_leads_to_each_folder(folder):
    """Type checkers and editors find the folders under the package."""
    link = PACKAGE / folder

    assert link.resolve() == (ROOT / folder).resolve()


def test_files_are_one_idea_each():
    """A file has 500 lines at most."""
    long = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}

    assert {name: lines for name, lines in long.items() if lines > 500} == {}
