"""Hooks of the site: references are made of help and docstrings, and files outside of `docs/` are named.

In a clone each page of a reference is a table that can be read as it is; the whole stands behind it on the site.
"""

import re
from contextlib import suppress
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from langgraph_engram import HOMES
from langgraph_engram.cli.main import APP

COMMANDS, REFERENCE = "<!-- commands -->", "<!-- reference -->"
OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+((?:examples|langgraph_engram|tests|lab)/[^)]*|[A-Z]+\.md)\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in commands and docstrings, and name files of the repository instead of linking to them."""
    return OUTSIDE.sub(_named, markdown).replace(COMMANDS, commands()).replace(REFERENCE, docstrings())


def _named(link: re.Match[str]) -> str:
    text, path = link.groups()
    return f"`{path}`" if path.endswith(text) else f"{text} (`{path}`)"


def docstrings() -> str:
    """Return what makes mkdocstrings show each public name; of the errors, all."""
    named = (home if name == "EngramError" else f"{home}.{name}" for name, home in HOMES.items())
    return "\n\n".join(f"::: {name}" for name in named)


def commands() -> str:
    """Return the reference of all commands."""
    group: Any = get_command(APP)
    sections = []
    for name, command in group.commands.items():
        sections += [section(f"engram {name}", command)]
    with suppress(ModuleNotFoundError):  # the lab is a distribution of its own
        benches: Any = get_command(import_module("engram_lab.cli").BENCH)
        sections += [section(f"engram bench {name}", command) for name, command in benches.commands.items()]
    return "\n\n".join([section("engram", group), *sections])


def section(name: str, command: Any) -> str:
    """Return the help of a command: what it does, then a row for each argument and option."""
    context = typer.Context(command, info_name=name)
    rows = [param.get_help_record(context) or (param.human_readable_name, param.help or "") for param in command.params]
    table = [f"| `{option}` | {cell(told)} |" for option, told in rows if "--help" not in option]
    head = ["| option | says |", "|---|---|"] if table else []
    return "\n".join([f"## {name}", "", " ".join((command.help or "").split()), "", *head, *table])


def cell(text: str) -> str:
    """Return a text as the cell of a table."""
    plain = " ".join(text.split()).replace("\\[", "[")
    return plain.replace("[", "(").replace("]", ")").replace("|", "\\|").replace("<", "&lt;")
