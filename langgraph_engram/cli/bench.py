"""`engram bench`: measure a memory on a data set. The benchmarks are imported when one is run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from langgraph_engram.cli.options import AsJson, Model, Preset, open_memory
from langgraph_engram.cli.output import print_json, print_table, progress_bar

if TYPE_CHECKING:
    from langgraph_engram.benchmarks.harness import Setup
    from langgraph_engram.embeddings.base import Encoder
    from langgraph_engram.embeddings.caching import CachedEncoder
    from langgraph_engram.memory import Memory

BENCH = typer.Typer(help="Measure a memory on a data set.", add_completion=False)
RULES = "rules"
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Ask the first N questions only.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="A folder for questions.jsonl and the memories. A run that was cut short goes on there.",
        show_default=False,
    ),
]
Writer = Annotated[
    str | None, typer.Option("--writer", help="The model that writes. \\[default: --model]", show_default=False)
]
Reader = Annotated[
    str | None, typer.Option("--reader", help="The model that answers. \\[default: --model]", show_default=False)
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        help="minilm, hashing, a folder, or embeddings such as openai:text-embedding-3-small. \\[default: minilm]",
        show_default=False,
    ),
]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="How many questions are asked at once.")]
Strategy = Literal["event", "window", "buffer", "session"]
JudgeProtocol = Literal["mem0", "hymem", "longmemeval", "beam"]
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
    """Measure a memory on a data set."""


@BENCH.command()
def locomo(
    file: DataSet,
    preset: Preset = None,
    model: Model = None,
    writer: Writer = None,
    reader: Reader = None,
    encoder: EncoderName = None,
    limit: Limit = None,
    out: Out = None,
    without: Without = None,
    concurrency: Concurrency = 1,
    as_json: AsJson = False,
) -> None:
    """Measure evidence, answers, cost and speed on LoCoMo."""
    from langgraph_engram.benchmarks.locomo import run_locomo

    setup = _setup("locomo", preset, writer or model, reader or model, _encoder(encoder), without)
    with progress_bar("reading") as bar:
        figures = run_locomo(file, setup, limit=limit, out=out, concurrency=concurrency, progress=bar)
    _print_figures(figures, as_json, without)


@BENCH.command()
def longmemeval(
    file: DataSet,
    preset: Preset = None,
    model: Model = None,
    writer: Writer = None,
    reader: Reader = None,
    encoder: EncoderName = None,
    limit: Limit = None,
    out: Out = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            "--vectors",
            help="A folder that caches vectors from run to run. \\[default: the user's cache folder]",
            show_default=False,
        ),
    ] = None,
    without: Without = None,
    concurrency: Concurrency = 1,
    as_json: AsJson = False,
) -> None:
    """Measure evidence, answers, abstention, cost and speed on LongMemEval."""
    from langgraph_engram.benchmarks.longmemeval import run_longmemeval
    from langgraph_engram.embeddings.caching import CachedEncoder, DiskCachedEncoder

    cached = DiskCachedEncoder(_encoder(encoder).inner, vectors)
    setup = _setup("longmemeval", preset, writer or model, reader or model, CachedEncoder(cached), without)
    with progress_bar("reading") as bar:
        figures = run_longmemeval(file, setup, limit=limit, out=out, concurrency=concurrency, progress=bar)
    _print_figures(figures, as_json, without)


@BENCH.command()
def beam(
    file: DataSet,
    preset: Preset = None,
    model: Model = None,
    writer: Writer = None,
    reader: Reader = None,
    encoder: EncoderName = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Write and ask the first N chats only.", show_default=False)
    ] = None,
    out: Out = None,
    without: Without = None,
    concurrency: Concurrency = 1,
    as_json: AsJson = False,
) -> None:
    """Measure source messages found by ability, records, cost and speed on BEAM: long chats with an assistant."""
    from langgraph_engram.benchmarks.beam import run_beam

    setup = _setup("beam", preset, writer or model, reader or model, _encoder(encoder), without)
    with progress_bar("reading") as bar:
        figures = run_beam(file, setup, limit=limit, out=out, concurrency=concurrency, progress=bar)
    _print_figures(figures, as_json, without)


@BENCH.command()
def reading(
    file: DataSet,
    presets: Annotated[
        list[str] | None,
        typer.Option("--preset", help="May be given several times. \\[default: engram]", show_default=False),
    ] = None,
    model: Model = None,
    writer: Annotated[str, typer.Option("--writer", help="The model that writes.")] = RULES,
    reader: Reader = None,
    encoder: EncoderName = None,
    sample: Annotated[
        str | None, typer.Option("--sample", help="A conversation. \\[default: the file's first]", show_default=False)
    ] = None,
    most: Annotated[int, typer.Option("--questions", min=1, help="Questions, drawn evenly from the categories.")] = 60,
    full: Annotated[bool, typer.Option("--full", help="Show a further reader every turn.")] = False,
    compress: Annotated[
        float | None,
        typer.Option(
            "--compress",
            help="Show a further reader the turns that hold the answer with this share of their words (LLMLingua-2).",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    concurrency: Concurrency = 1,
    as_json: AsJson = False,
) -> None:
    """Measure what a model answers from memory, from plain turns and from the turns that hold the answer (LoCoMo)."""
    from langgraph_engram.benchmarks.reading import run_reading

    opened = _encoder(encoder)
    setups = [_setup("locomo", preset, writer, reader or model, opened) for preset in presets or ["engram"]]
    with progress_bar("reading") as bar:
        figures = run_reading(
            file,
            setups,
            sample_id=sample,
            most=most,
            out=out,
            full=full,
            compress_rate=compress,
            concurrency=concurrency,
            progress=bar,
        )
    _print_figures(figures, as_json)


@BENCH.command()
def judge(
    lines: Annotated[
        Path,
        typer.Argument(
            metavar="LINES", help="The questions.jsonl of a bench that answers, or its folder.", show_default=False
        ),
    ],
    protocol: Annotated[
        JudgeProtocol, typer.Option("--protocol", help="mem0, hymem, longmemeval or beam.", show_default=False)
    ],
    model: Annotated[
        str | None, typer.Option("--model", help='The judge, such as "openai:NAME".', show_default=False)
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            "--errors",
            help="An audit of LoCoMo's answers: figures also without the questions whose answer it finds wrong.",
            show_default=False,
        ),
    ] = None,
    concurrency: Concurrency = 4,
    as_json: AsJson = False,
) -> None:
    """Have a language model judge the answers of a bench, and write its verdicts beside them."""
    from langgraph_engram.benchmarks.judge import run_judge
    from langgraph_engram.config import resolve, resolve_chat, resolve_model

    chat = resolve_chat().model_copy(update={"temperature": 0.0, "concurrency": concurrency})
    opened = resolve_model(resolve(None, model, None, None).model, chat)
    with progress_bar("reading") as bar:
        figures = run_judge(lines, opened, protocol, errors=errors, concurrency=concurrency, progress=bar)
    _print_figures(figures, as_json)


@BENCH.command()
def cost(file: DataSet, preset: Preset = None, without: Without = None, as_json: AsJson = False) -> None:
    """Count the calls and tokens of writing LoCoMo conversations, answered by rules."""
    from langgraph_engram.ablations import without as left_out
    from langgraph_engram.benchmarks.cost import run_cost
    from langgraph_engram.config import resolve

    settings = left_out(resolve(None, None, preset, None).settings, without or ())
    with progress_bar("reading") as bar:
        figures = run_cost(file, lambda folder, model: open_memory(folder, model, None, settings), progress=bar)
    _print_figures(figures, as_json, without)


@BENCH.command()
def segmentation(
    file: DataSet,
    strategy: Annotated[
        Strategy | None,
        typer.Option(
            "--strategy", help="event, window, buffer or session. \\[default: the preset's]", show_default=False
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
    from langgraph_engram.stores.base import MEMORY

    with open_memory(MEMORY, model, preset) as memory, progress_bar("reading") as bar:
        settings = memory.settings.segment.model_copy(update={"strategy": strategy} if strategy else {})
        figures = run_segmentation(file, memory.store, memory.model, settings, limit=limit, progress=bar)
        figures = {"preset": memory.settings.preset, **figures}
    _print_figures(figures, as_json)


@BENCH.command()
def speed(
    records: Annotated[int, typer.Option("--records", min=20, help="Records of a large scope.")] = 10_000,
    users: Annotated[int, typer.Option("--users", min=1, help="Large scopes, each with one ten times smaller.")] = 1,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Instead store and ask as many texts in others too: langmem,mem0,chroma,rank-bm25.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw --against into a PNG or SVG file.", show_default=False)
    ] = None,
    preset: Preset = None,
    encoder: EncoderName = None,
    as_json: AsJson = False,
) -> None:
    """Measure searches in made-up memories: milliseconds of CPU and wall, memory, and how they grow."""
    from langgraph_engram.benchmarks.against import draw_against, run_against
    from langgraph_engram.benchmarks.speed import run_speed

    if against:
        with progress_bar("reading") as bar:
            compared = run_against(
                lambda folder, opened: open_memory(folder, RULES, preset, None, opened),
                lambda: _encoder(encoder),
                [name.strip() for name in against.split(",") if name.strip()],
                texts=records,
                progress=bar,
            )
        if plot:
            draw_against(compared, plot)
        _print_figures(compared, as_json)
        return
    opened = _encoder(encoder)
    with progress_bar("reading") as bar:
        figures = run_speed(
            lambda folder: open_memory(folder, RULES, preset, None, opened), records=records, users=users, progress=bar
        )
    _print_figures(figures, as_json)


SHORT_ANSWERS = ("locomo", "longmemeval")
"""The data sets whose right answers are a few words; those of the others are as long as a question asks for."""


def _setup(
    dataset: str,
    preset: str | None,
    writer: str | None,
    reader: str | None,
    encoder: "Encoder",
    without: Sequence[str] | None = None,
) -> "Setup[Memory]":
    """Open the models of a run on a data set, and say what it is made with.

    Raises:
        InvalidInput: An unknown name or part.
        ModelUnavailable: A model needs a key that is not set.
    """
    from langgraph_engram.ablations import without as left_out
    from langgraph_engram.benchmarks.harness import Setup
    from langgraph_engram.benchmarks.resume import recording_of
    from langgraph_engram.config import resolve, resolve_chat, resolve_model
    from langgraph_engram.llm.replay import ReplayModel
    from langgraph_engram.presets import short_answers

    chat = resolve_chat()
    choice = resolve(None, writer, preset, None, dataset)
    settings = left_out(choice.settings, without or ())
    if dataset in SHORT_ANSWERS:
        settings = short_answers(settings)
    writing = resolve_model(choice.model, chat)
    reading = writing if writer == reader else resolve_model(resolve(None, reader, preset, None).model, chat)

    def open_writer(folder: str) -> "Memory":
        """Open a memory whose model gives again what it answered before a run was cut short."""
        replayed = ReplayModel(recording_of(folder), writing, continues=True)
        return open_memory(folder, writing if writing.name == RULES else replayed, None, settings, encoder)

    return Setup(
        open_writer,
        lambda folder: open_memory(folder, reading, None, settings, encoder),
        preset=settings.preset,
        writer=writing.name,
        reader=reading.name,
        encoder=encoder.name,
        intent_model=reading if settings.retrieve.intent == "model" and reading.name != RULES else None,
        settings={
            **settings.model_dump(mode="json"),
            "without": list(without or ()),
            "temperature": chat.temperature,
            "max_completion_tokens": chat.max_completion_tokens,
        },
    )


def _encoder(name: str | None) -> "CachedEncoder":
    """Open an encoder, once for all memories of a run.

    Raises:
        InvalidInput: An unknown name.
    """
    from langgraph_engram.config import resolve
    from langgraph_engram.embeddings.factory import open_encoder

    return open_encoder(resolve(None, None, None, name).encoder)


def _print_figures(figures: dict[str, object], as_json: bool, without: Sequence[str] | None = None) -> None:
    """Print figures, and what was taken out: one JSON document for programs, a table for people."""
    if without:
        figures = {**figures, "without": without}
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
