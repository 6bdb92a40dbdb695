"""The laboratory uses what the package shows: public names."""

import ast
from pathlib import Path

import pytest

import engram_lab

ROOT = Path(engram_lab.__file__).parent
SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
PACKAGE = "langgraph_engram"


def imports(source):
    """Yield the modules of the package that a source imports, each with the names taken from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names if alias.name.split(".")[0] == PACKAGE)


def private_attributes(source):
    """Return names with a leading underscore that are asked of something else than `self`."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return [
        node.attr
        for node in found
        if node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    ]


@pytest.mark.parametrize("name", SOURCES)
def test_no_private_name_of_the_package_is_used(name):
    """Neither imported nor asked of a value."""
    taken = [taken for _, names in imports(SOURCES[name]) for taken in names]

    assert [taken for taken in taken if taken.startswith("_")] == []
    assert private_attributes(SOURCES[name]) == []
