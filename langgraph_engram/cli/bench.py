"""`engram bench`: measure a memory on a data set. The benchmarks are imported when one is run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from langgraph_engram.cli.factory import open_memory
from langgraph_engram.cli.options import AsJson, Model, Preset
from langgraph_engram.cli.output import print_json, print_table, progress_bar

if TYPE_CHECKING:
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.settings import Settings

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
        "light, deep, reflect, synthesis, relations, seeds or assistant. May be given several times.",
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
        figures = run_locomo(
            file,
            lambda folder: open_memory(folder, model, preset, _settings(preset, without, "locomo")),
            limit=limit,
            out=out,
            progress=bar,
        )
    _print_figures({**figures, "without": without} if without else figures, as_json)


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
            help="A folder that caches vectors from run to run. [default: the user's cache folder]",
            show_default=False,
        ),
    ] = None,
    without: Without = None,
    as_json: AsJson = False,
) -> None:
    """Measure evidence, answers, abstention, cost and speed on LongMemEval."""
    from langgraph_engram.benchmarks.longmemeval import run_longmemeval

    encoder = _disk_cached_encoder(vectors)
    with progress_bar("reading") as bar:
        figures = run_longmemeval(
            file,
            lambda folder: open_memory(folder, model, preset, _settings(preset, without, "longmemeval"), encoder),
            limit=limit,
            out=out,
            progress=bar,
        )
    _print_figures({**figures, "without": without} if without else figures, as_json)


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
            "--out",
            help="A folder for questions.jsonl; questions that it answers are not asked again.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a model answers from memory, from plain turns and from the turns that hold the answer (LoCoMo)."""
    from langgraph_engram.benchmarks.reading import run_reading

    with progress_bar("reading") as bar:
        figures = run_reading(
            file,
            lambda folder, name, writer: open_memory(folder, writer or model, name),
            presets or ["engram"],
            sample_id=sample,
            most=most,
            out=out,
            progress=bar,
        )
    _print_figures(figures, as_json)


@BENCH.command()
def cost(file: DataSet, preset: Preset = None, as_json: AsJson = False) -> None:
    """Count the calls and tokens of writing LoCoMo conversations, answered by rules."""
    from langgraph_engram.benchmarks.cost import run_cost

    with progress_bar("reading") as bar:
        figures = run_cost(file, lambda folder, model: open_memory(folder, model, preset), progress=bar)
    _print_figures(figures, as_json)


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
        int | None, typer.Option("--limit", min=1, help="Segment the first N dialogues only.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how dialogues are segmented into events, by Pk, WindowDiff and F1."""
    from langgraph_engram.benchmarks.segmentation import run_segmentation

    with open_memory(IN_MEMORY, model, preset) as memory, progress_bar("reading") as bar:
        settings = memory.settings.segment.model_copy(update={"strategy": strategy} if strategy else {})
        figures = run_segmentation(file, memory.store, memory.model, settings, limit=limit, progress=bar)
        figures = {"preset": memory.settings.preset, **figures}
    _print_figures(figures, as_json)


def _settings(preset: str | None, without: Sequence[str] | None, dataset: str) -> "Settings":
    """Return a preset's settings for a data set, without some parts.

    Raises:
        InvalidInput: An unknown preset or part.
    """
    from langgraph_engram.ablations import without as left_out
    from langgraph_engram.config import resolve

    return left_out(resolve(None, None, preset, None, dataset).settings, without or ())


def _disk_cached_encoder(folder: Path | None) -> "Encoder":
    """Open the encoder that `ENGRAM_ENCODER` names with its vectors cached on disk; None is the user's cache folder."""
    from langgraph_engram.config import resolve
    from langgraph_engram.embeddings.caching import DiskCachedEncoder
    from langgraph_engram.embeddings.factory import open_encoder

    return DiskCachedEncoder(open_encoder(resolve(None, None, None, None).encoder).inner, folder)


def _print_figures(figures: dict[str, object], as_json: bool) -> None:
    """Print figures: one JSON document for programs, a table for people."""
    if as_json:
        print_json(figures)
    else:
        print_table(["figure", "value"], _rows("", figures))


def _rows(prefix: str, figures: dict[str, object]) -> list[list[str]]:
    """Flatten nested figures: {"usage": {"calls": 0}} gives the row "usage.calls", "0"."""
    flat: list[list[str]] = []
    for key, value in figures.items():
        name = f"{prefix}{key}"
        flat += _rows(f"{name}.", value) if isinstance(value, dict) else [[name, _figure(value)]]
    return flat


def _figure(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
