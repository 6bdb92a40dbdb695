"""`engram recall`: answer a question from memory, or show the evidence for one."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langgraph_engram.cli import options
from langgraph_engram.cli.format import print_recollection
from langgraph_engram.cli.opening import Invocation, loading_encoder
from langgraph_engram.cli.output import print_json, spinner
from langgraph_engram.errors import InvalidInput

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory
    from langgraph_engram.results import Recollection


@options.shared("user", "store", "model", "preset", "tenant", "agent", "as_json")
def recall(
    command: Invocation,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What is asked.")],
    search: Annotated[bool, typer.Option("--search", help="Find evidence only; no model is asked.")] = False,
    budget: Annotated[int | None, typer.Option("--budget", min=1, help="Tokens of evidence.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="The first N passages of a --search only.")
    ] = None,
    stop: Annotated[
        float | None,
        typer.Option(
            "--stop",
            min=0,
            max=1,
            help="How weak a passage ends a --search, as a share of the best; 0 to fill the budget.",
        ),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option("--now", help='The date that "last week" counts from, ISO 8601. \\[default: the newest turn\'s]'),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Answer as memory stood then: a date or a time, ISO 8601.")
    ] = None,
    style: Annotated[
        Literal["auto", "short", "full"] | None,
        typer.Option("--style", help="How long the answer is. \\[default: as the question asks]"),
    ] = None,
    filters: options.Filter = None,
) -> None:
    """Answer a question from memory, with the evidence that the answer rests on."""
    if limit and not search:
        raise InvalidInput("--limit is for --search: an answer needs its evidence whole; --budget limits that")
    if stop is not None and not search:
        raise InvalidInput("--stop is for --search: what an answer is written from has limits of its own")
    encoder = loading_encoder(command.defaults)
    from langgraph_engram.formats.messages import read_moment, read_until

    moment, until = read_moment(now), read_until(as_of)
    with spinner("remembering") as show_step, command.open_existing(encoder) as memory:
        recall = partial(_recall_with_progress, memory, show_step, answer_style=style)
        ask = partial(memory.search, limit=limit, stop=stop) if search else recall
        recollection = ask(
            question,
            budget=budget,
            now=moment,
            as_of=until,
            filters=options.read_filters(filters),
            **command.scope,
        )
    if command.as_json:
        print_json(recollection)
    else:
        print_recollection(recollection)


def _recall_with_progress(
    memory: "Memory", show_step: Callable[[str], None], question: str, **arguments: Any
) -> "Recollection":
    """Recall as `Memory.recall` does, and show each step, and the answer as it is written."""
    recollection, written = None, ""
    for update in memory.stream(question, **arguments):
        written = written + update.text if update.text else ""
        show_step(written or update.step.replace("_", " "))
        recollection = update.recollection or recollection
    assert recollection is not None  # the last update holds it
    return recollection
