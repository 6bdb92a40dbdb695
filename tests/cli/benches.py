"""A command as another distribution would add it."""

from typing import Annotated

import typer

BENCH = typer.Typer()


@BENCH.callback()
def bench():
    """Measure."""


@BENCH.command()
def echo(word: str, twice: Annotated[bool, typer.Option("--twice")] = False):
    typer.echo(f"{word} {word}" if twice else word)
