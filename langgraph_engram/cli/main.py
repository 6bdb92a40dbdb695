"""The command line `engram`: its commands, and how their errors become exit codes.

Nothing heavy is imported before a command runs.
"""

import gc
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points, version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from langgraph_engram.cli.demo import demo
from langgraph_engram.cli.inspect import history, show, status
from langgraph_engram.cli.maintain import doctor, export, improve, load
from langgraph_engram.cli.options import read_defaults
from langgraph_engram.cli.output import DEBUG_VARIABLE, FAILED, INTERRUPTED, MISUSED, fail, report_bug, wants_json
from langgraph_engram.cli.remember import recall, remember, retry
from langgraph_engram.cli.revise import approve, forget, undo, update
from langgraph_engram.cli.serve import inspect, mcp, serve
from langgraph_engram.errors import EngramError, InvalidInput

USAGE_ERROR: type[typer.BadParameter] = typer.BadParameter.__mro__[2]
"""The root of typer's usage errors, `ClickException`: typer brings its own click and exports no name for it."""

GC_THRESHOLD = 300_000
"""Objects between garbage collections: what a command imports and loads, 250,000 for a search, stays till it ends. To
look for garbage in it every 700 objects, Python's default, took a tenth of the time of a search."""

EXTENSIONS = "engram.commands"
"""The group of entry points under which a distribution adds a command."""
NOT_INSTALLED = "bench is not installed: pip install langgraph-engram-lab (from a clone: pip install ./lab)"

APP = typer.Typer(pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"engram {version('langgraph-engram')}")
        raise typer.Exit


@APP.callback()
def engram(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Store, user, model, preset and encoder where neither options nor ENGRAM_* name them. "
            "\\[default: ./engram.toml, if there]",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="minilm, hashing, openai:NAME, or a folder. \\[env var: ENGRAM_ENCODER] \\[default: minilm]"),
    ] = None,
    version: Annotated[  # noqa: ARG001 - printed by its callback
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term memory for LangGraph agents.

    What is named by an option holds before its ENGRAM_* variable, that before engram.toml, that before the default;
    "engram status" says where each comes from.

    Exit codes: 0 done, 1 it failed, 2 bad usage or bad input, 3 "doctor" found a fault.
    """
    context.obj = defaults = read_defaults(config, encoder)
    user = {"user": defaults.variables.get("ENGRAM_USER")}
    context.default_map = {command.__name__: user for group in COMMANDS.values() for command in group}


COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Remember and recall": (demo, remember, recall, retry),
    "See what is stored": (show, status, history, inspect),
    "Decide, correct, forget": (approve, update, undo, forget),
    "Serve": (serve, mcp),
    "Maintain": (improve, export, load, doctor),
}

for panel, commands in COMMANDS.items():
    for command in commands:
        APP.command(rich_help_panel=panel)(command)


def bench(context: typer.Context) -> None:
    """Measure a memory on a data set; needs langgraph-engram-lab."""
    found = [entry for entry in entry_points(group=EXTENSIONS) if entry.name == "bench"]
    if not found:
        raise typer.Exit(fail(NOT_INSTALLED, MISUSED, wants_json(context.args)))
    command = get_command(found[0].load())
    with command.make_context("bench", list(context.args), parent=context.parent) as inner:
        command.invoke(inner)


TAKES_ALL = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}
APP.command(rich_help_panel="Maintain", add_help_option=False, context_settings=TAKES_ALL)(bench)


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    gc.set_threshold(GC_THRESHOLD)
    arguments = sys.argv[1:]
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    debugging = bool(os.environ.get(DEBUG_VARIABLE))
    logging.basicConfig(level=logging.INFO if debugging else logging.ERROR)
    if not debugging:
        sys.excepthook = partial(report_bug, wants_json(arguments))
    code = run(arguments)
    gc.freeze()  # the process ends: to look for garbage in all it has imported and loaded takes a third of a second
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command, or show the help, and return 0, 1 (it failed), 2 (bad usage or input) or 130 (interrupted)."""
    as_json = wants_json(arguments)
    try:
        code = get_command(APP).main(list(arguments) or ["--help"], prog_name="engram", standalone_mode=False) or 0
    except USAGE_ERROR as error:
        return fail(_usage(error), MISUSED, as_json)
    except (EngramError, OSError) as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exception(error)
        return fail(str(error), MISUSED if isinstance(error, InvalidInput) else FAILED, as_json)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    return fail("interrupted", code, as_json) if code == INTERRUPTED else int(code)


def _usage(error: typer.BadParameter) -> str:
    of_all = {option for parameter in get_command(APP).params for option in parameter.opts}
    if error.ctx and error.ctx.parent and (name := getattr(error, "option_name", "")) in of_all:
        return f"{name} stands before the command: engram {name} ... {error.ctx.info_name}"
    command = error.ctx.command_path if error.ctx else "engram"
    message = error.format_message().replace("Value error, ", "")  # which typer puts before a choice that is none
    return f"{message} (see {command} --help)"


if __name__ == "__main__":
    main()
