"""`engram bench` is found where the laboratory is installed."""

import json
from importlib.metadata import EntryPoint
from typing import Annotated

import pytest
import typer

from langgraph_engram.cli import main

BENCH = typer.Typer()
"""A command as another distribution would add it."""


@BENCH.callback()
def bench():
    """Measure."""


@BENCH.command()
def echo(word: str, twice: Annotated[bool, typer.Option("--twice")] = False):
    typer.echo(f"{word} {word}" if twice else word)


@pytest.mark.parametrize("options", [[], ["locomo", "file.json"], ["locomo", "file.json", "--json"]])
def test_where_it_is_not_installed_one_line_says_how_to(engram, monkeypatch, options):
    """On stderr, with the code of misuse; as a document too where JSON is asked for."""
    monkeypatch.setattr(main, "entry_points", lambda **_: [])

    code, out, err = engram("bench", *options)

    assert (code, err.count("\n")) == (2, 1)
    assert "pip install langgraph-engram-lab" in err
    assert (list(json.loads(out)) if "--json" in options else out) == (["error"] if "--json" in options else "")


def test_where_it_is_installed_it_gets_the_arguments(engram, monkeypatch):
    """The command of the entry point runs under its name, with all that stands behind it."""
    found = EntryPoint("bench", "tests.cli.test_bench:BENCH", main.EXTENSIONS)
    monkeypatch.setattr(main, "entry_points", lambda **_: [found])

    assert engram("bench", "echo", "a", "--twice")[:2] == (0, "a a\n")
    code, _, err = engram("bench", "nonsense")
    assert (code, err) == (2, "engram: No such command 'nonsense'. (see engram bench --help)\n")
