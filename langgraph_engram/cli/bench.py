"""`engram bench`: measure a memory on a data set. The benchmarks are imported when one is run."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from langgraph_engram.cli.opening import (
    MemoryFactory,
    ModelMemoryFactory,
    PresetMemoryFactory,
    disk_cached_encoder,
    open_memory,
)
from langgraph_engram.cli.options import AsJson, Model, Preset
from langgraph_engram.cli.output import print_json, print_table, progress_bar

BENCH = typer.Typer(help="Measure a memory on a data set, in a temporary store.", add_completion=False)
IN_MEMORY = "memory:"
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Ask the first N questions only.", show_default=False)
]
Out = Annotated[Path | None, typer.Option("--out", help="A folder for questions.jsonl.", show_default=False)]
Strategy = Literal["event", "window", "buffer", "session"]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        help="Take a part out of the preset: dimension, content-only, causal, boundary, segmentation, summary, raw, "
        "light, deep, reflect, synthesis or assistant. May be given several times.",
        show_default=False,
    ),
]
DataSet = Annotated[Path, typer.Argument(metavar="FILE", help="The data set's file.", show_default=False)]


@BENCH.callback()
def bench() -> None:
    """Measure a memory on a data set, in a temporary store."""


@BENCH.command()
def locomo(
    file: DataSet,
    preset: Preset = None,
    model: Model = None,
    limit: Limit = None,
    out: Out = None,
    without: Without = None,
    as_json: AsJson = False,
) -> None:
    """Measure evidence, answers, cost and speed on LoCoMo."""
    from langgraph_engram.benchmarks.locomo import run_locomo

    with progress_bar("reading") as bar:
        opens = MemoryFactory(model, preset, tuple(without or ()))
        figures = run_locomo(file, opens, limit=limit, out=out, progress=bar)
    print_figures({**figures, "without": without} if without else figures, as_json)


@BENCH.command()
def longmemeval(
    file: DataSet,
    preset: Preset = None,
    model: Model = None,
    limit: Limit = None,
    out: Out = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            "--vectors",
            help="A folder in which vectors are kept from run to run. [default: the user's cache folder]",
            show_default=False,
        ),
    ] = None,
    without: Without = None,
    as_json: AsJson = False,
) -> None:
    """Measure evidence, answers, abstention, cost and speed on LongMemEval."""
    from langgraph_engram.benchmarks.longmemeval import run_longmemeval

    with progress_bar("reading") as bar:
        opens = MemoryFactory(model, preset, tuple(without or ()), disk_cached_encoder(vectors))
        figures = run_longmemeval(file, opens, limit=limit, out=out, progress=bar)
    print_figures({**figures, "without": without} if without else figures, as_json)


@BENCH.command()
def reading(
    file: DataSet,
    presets: Annotated[
        list[str] | None,
        typer.Option("--preset", help="May be given several times. [default: engram]", show_default=False),
    ] = None,
    model: Model = None,
    sample: Annotated[
        str | None, typer.Option("--sample", help="A conversation. [default: the file's first]", show_default=False)
    ] = None,
    most: Annotated[int, typer.Option("--questions", min=1, help="Questions, drawn evenly from the categories.")] = 60,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A folder for questions.jsonl; what stands there is not asked again.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a model answers from memory, from plain turns and from the turns that hold the answer (LoCoMo)."""
    from langgraph_engram.benchmarks.reading import run_reading

    with progress_bar("reading") as bar:
        figures = run_reading(
            file, PresetMemoryFactory(model), presets or ["engram"], sample_id=sample, most=most, out=out, progress=bar
        )
    print_figures(figures, as_json)


@BENCH.command()
def cost(file: DataSet, preset: Preset = None, as_json: AsJson = False) -> None:
    """Count the calls and tokens of writing LoCoMo conversations, with the answers that rules give."""
    from langgraph_engram.benchmarks.cost import run_cost

    with progress_bar("reading") as bar:
        figures = run_cost(file, ModelMemoryFactory(preset), progress=bar)
    print_figures(figures, as_json)


@BENCH.command()
def segmentation(
    file: DataSet,
    strategy: Annotated[
        Strategy | None,
        typer.Option(
            "--strategy", help="event, window, buffer or session. [default: the preset's]", show_default=False
        ),
    ] = None,
    preset: Preset = None,
    model: Model = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Cut the first N dialogues only.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure where dialogues are cut into events, by Pk, WindowDiff and F1."""
    from langgraph_engram.benchmarks.segmentation import run_segmentation

    chosen = {} if strategy is None else {"strategy": strategy}
    with open_memory(IN_MEMORY, model, preset) as memory, progress_bar("reading") as bar:
        settings = memory.settings.segment.model_copy(update=chosen)
        figures = run_segmentation(file, memory.store, memory.model, settings, limit=limit, progress=bar)
        figures = {"preset": memory.settings.preset, **figures}
    print_figures(figures, as_json)


def print_figures(figures: dict[str, object], as_json: bool) -> None:
    """Print figures: one JSON document for programs, a table for people."""
    if as_json:
        print_json(figures)
    else:
        print_table(["figure", "value"], rows("", figures))


def rows(prefix: str, figures: dict[str, object]) -> list[list[str]]:
    """Lay nested figures out flat: {"usage": {"calls": 0}} gives the row "usage.calls", "0"."""
    flat: list[list[str]] = []
    for key, value in figures.items():
        name = f"{prefix}{key}"
        flat += rows(f"{name}.", value) if isinstance(value, dict) else [[name, _figure(value)]]
    return flat


def _figure(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
