"""`engram bench`: measure a memory on a data set. The benchmarks are imported when one is run.

What the options do not say comes from `ENGRAM_*` or `engram.toml`, as it does for every command of `engram`.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langgraph_engram.cli.options import AsJson, Model, Preset
from langgraph_engram.cli.output import print_json, print_table, progress

if TYPE_CHECKING:
    from engram_lab.harness import Figures
    from engram_lab.opening import Opener

BENCH = typer.Typer(help="Measure a memory on a data set.", add_completion=False)


def _option(name: str, says: str, **more: Any) -> Any:
    return typer.Option(name, help=says, show_default=False, **more)


Limit = Annotated[int | None, _option("--limit", "The first N only: questions (conversations of BEAM, cost).", min=1)]
Data = Annotated[Literal["locomo", "longmemeval"], typer.Option("--data", help="What the file is of.")]
Out = Annotated[
    Path | None,
    _option("--out", "A folder for questions.jsonl and the memories. A run that was cut short goes on there."),
]
Vectors = Annotated[
    Path | None,
    _option("--vectors", "A folder that caches vectors from run to run. \\[default, LongMemEval: the user's cache]"),
]
Writer = Annotated[str | None, _option("--writer", "The model that writes. \\[default: --model]")]
Reader = Annotated[str | None, _option("--reader", "The model that answers. \\[default: --model]")]
NAMES = "minilm, hashing, a folder, or embeddings such as openai:text-embedding-3-small."
EncoderName = Annotated[str | None, _option("--encoder", f"{NAMES} \\[default: minilm]")]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="How many questions are asked at once.")]
Without = Annotated[
    list[str] | None,
    _option(
        "--without",
        "Take a part out of the preset: dimension, content-only, causal, assistant or filter (dimmem), segmentation, "
        "boundary, summary or raw (esmem), synthesis, relations or seeds (structmem), level1, raw, light, deep or "
        "reflect (hymem). May be given several times.",
    ),
]
DATA_SETS = {
    "locomo": "Measure evidence, answers, cost and speed on LoCoMo.",
    "longmemeval": "Measure evidence, answers, abstention, cost and speed on LongMemEval.",
    "beam": "Measure source messages found by ability, records, cost and speed on BEAM: long chats with an assistant.",
}
DataSet = Annotated[Path, typer.Argument(metavar="FILE", help="The data set's file.", show_default=False)]
Answers = Annotated[
    Path, typer.Argument(metavar="LINES", help="The questions.jsonl of a bench that answers, or its folder.")
]
Protocol = Literal["mem0", "hymem", "longmemeval", "beam"]
AUDITED = "An audit of LoCoMo's answers: figures also without the questions whose answer it finds wrong."
RECORDED = "A file of JSON lines that keeps each prompt with its answer, and gives what it has again."
SHORTENED = "Show a further reader this share of the answer's turns, by LLMLingua-2. May be given several times."
RULES = "rules"


def _opener(context: typer.Context) -> "Opener":
    from engram_lab.opening import Opener

    return Opener(context.obj.variables)


def _measuring(name: str) -> Callable[..., None]:
    """Return the command of a data set, measured by `run_NAME`."""

    def measured(
        context: typer.Context,
        file: DataSet,
        preset: Preset = None,
        model: Model = None,
        writer: Writer = None,
        reader: Reader = None,
        encoder: EncoderName = None,
        limit: Limit = None,
        out: Out = None,
        vectors: Vectors = None,
        without: Without = None,
        concurrency: Concurrency = 1,
        as_json: AsJson = False,
    ) -> None:
        run = getattr(import_module("engram_lab.benches"), f"run_{name}")
        opened = _opener(context)
        shared = opened.encoder(encoder, keep=name == "longmemeval", vectors=vectors)
        setup = opened.setup(name, preset, writer or model, reader or model, shared, without)
        with progress("reading") as bar:
            figures = run(file, setup, limit=limit, out=out, concurrency=concurrency, progress=bar)
        _print_figures(figures, as_json, without)

    return measured


for _name, _help in DATA_SETS.items():
    BENCH.command(_name, help=_help)(_measuring(_name))


@BENCH.command()
def reading(
    context: typer.Context,
    file: DataSet,
    data: Data = "locomo",
    presets: Annotated[list[str] | None, _option("--preset", "May be given several times. \\[default: engram]")] = None,
    model: Model = None,
    writer: Annotated[str, typer.Option("--writer", help="The model that writes.")] = RULES,
    reader: Reader = None,
    encoder: EncoderName = None,
    sample: Annotated[str | None, _option("--sample", "A conversation. \\[default: the file's first]")] = None,
    conversations: Annotated[int, typer.Option("--conversations", min=1, help="The first N of them.")] = 1,
    most: Annotated[
        int, typer.Option("--questions", min=1, help="Of each, drawn evenly from LoCoMo's categories.")
    ] = 60,
    full: Annotated[bool, typer.Option("--full", help="Show a further reader every turn.")] = False,
    compression: Annotated[list[float] | None, _option("--compression", SHORTENED)] = None,
    weights: Annotated[
        str | None, _option("--weights", "What --compression chooses by. \\[default: as in DimMem]")
    ] = None,
    out: Out = None,
    concurrency: Concurrency = 1,
    as_json: AsJson = False,
) -> None:
    """Measure what a model answers from memory, from plain turns and from the turns that hold the answer."""
    from engram_lab.reading import run_reading

    opened = _opener(context)
    shared = opened.encoder(encoder)
    setups = [opened.setup(data, preset, writer, reader or model, shared) for preset in presets or ["engram"]]
    with progress("reading") as bar:
        figures = run_reading(
            file, setups, data=data, sample_id=sample, conversations=conversations, most=most, out=out, full=full,
            compressors=[opened.compressor(share, weights) for share in compression or ()],
            concurrency=concurrency, progress=bar,
        )  # fmt: skip
    _print_figures(figures, as_json)


@BENCH.command()
def judge(
    context: typer.Context,
    lines: Answers,
    protocol: Annotated[Protocol, _option("--protocol", "mem0, hymem, longmemeval or beam.")],
    model: Annotated[str | None, _option("--model", 'The judge, such as "openai:NAME".')] = None,
    errors: Annotated[Path | None, _option("--errors", AUDITED)] = None,
    concurrency: Concurrency = 4,
    as_json: AsJson = False,
) -> None:
    """Have a language model judge the answers of a bench, and write its verdicts beside them."""
    from engram_lab.judge import run_judge

    judging = _opener(context).model(model, temperature=0.0, concurrency=concurrency)
    with progress("reading") as bar:
        figures = run_judge(lines, judging, protocol, errors=errors, concurrency=concurrency, progress=bar)
    _print_figures(figures, as_json)


@BENCH.command()
def cost(
    context: typer.Context,
    file: DataSet,
    data: Data = "locomo",
    preset: Preset = None,
    model: Model = None,
    limit: Limit = None,
    vectors: Vectors = None,
    without: Without = None,
    recording: Annotated[Path | None, _option("--recording", RECORDED)] = None,
    as_json: AsJson = False,
) -> None:
    """Count the calls and tokens of writing conversations, answered by rules unless --model names another."""
    from engram_lab.cost import run_cost

    opened = _opener(context)
    settings, encoder = opened.settings(preset, without, data), opened.encoder(vectors=vectors)
    answering = opened.model(model) if model else None
    with progress("reading") as bar:
        figures = run_cost(
            file, lambda folder, model: opened.memory(folder, model, settings, encoder),
            progress=bar, data=data, model=answering, limit=limit, recording=recording,
        )  # fmt: skip
    _print_figures(figures, as_json, without)


@BENCH.command()
def segmentation(
    context: typer.Context,
    file: DataSet,
    preset: Preset = None,
    model: Model = None,
    limit: Annotated[int | None, _option("--limit", "Segment the first N dialogues only.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how dialogues are segmented into events, by Pk, WindowDiff and F1."""
    from engram_lab.segmentation import run_segmentation

    opened = _opener(context)
    settings = opened.settings(preset)
    memory = opened.memory("memory:", opened.model(model), settings, opened.encoder())
    with memory, progress("reading") as bar:
        figures = run_segmentation(file, memory.store, memory.model, settings, limit=limit, progress=bar)
    _print_figures({"preset": settings.preset, **figures}, as_json)


@BENCH.command()
def speed(
    context: typer.Context,
    records: Annotated[int, typer.Option("--records", min=20, help="Records of a large scope.")] = 10_000,
    preset: Preset = None,
    encoder: EncoderName = None,
    as_json: AsJson = False,
) -> None:
    """Measure searches in made-up memories: milliseconds of CPU and wall, memory, and how they grow."""
    from engram_lab.speed import run_speed

    opened = _opener(context)
    settings, shared = opened.settings(preset), opened.encoder(encoder)
    with progress("reading") as bar:
        figures = run_speed(
            lambda folder: opened.memory(folder, RULES, settings, shared), records=records, progress=bar
        )
    _print_figures(figures, as_json)


@BENCH.command()
def peers(
    context: typer.Context,
    systems: Annotated[
        str | None, _option("--systems", "Names with commas, such as engram,turns,sentences. \\[default: all]")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A part of it, in ten minutes.")] = False,
    locomo: Annotated[Path | None, _option("--locomo", "A LoCoMo file; --remarks are put into it.")] = None,
    longmemeval: Annotated[Path | None, _option("--longmemeval", "A LongMemEval file; --requests go there.")] = None,
    beam: Annotated[Path | None, _option("--beam", "A BEAM file.")] = None,
    requests: Annotated[Path | None, _option("--requests", "Requests that something bears on, among chats.")] = None,
    remarks: Annotated[Path | None, _option("--remarks", "Remarks of LoCoMo-Plus, among the talks of LoCoMo.")] = None,
    split: Annotated[Literal["fit", "held-out"], typer.Option("--split", help="Which invented people.")] = "held-out",
    conversations: Annotated[int | None, _option("--conversations", "The first N of each data set.", min=1)] = None,
    limit: Annotated[int | None, _option("--limit", "N questions of each conversation, drawn evenly.", min=1)] = None,
    model: Model = None,
    judging: Annotated[str | None, _option("--judge", "The model that judges what --model answers.")] = None,
    encoder: EncoderName = None,
    vectors: Vectors = None,
    out: Annotated[Path, typer.Option("--out", help="A folder; a run goes on there.")] = Path("peers-out"),
    minutes: Annotated[float, typer.Option("--minutes", help="What one call of a system may take.")] = 10,
    gigabytes: Annotated[float, typer.Option("--gigabytes", help="What a system may hold in memory.")] = 8,
    page: Annotated[Path | None, _option("--page", "A folder of documentation that gets the page and plots.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare engram with other memories and with plain searches at equal tokens, and write a report.

    The exit status is 1 where engram shows over two points less than a plain vector search within 1,000 tokens.
    """
    from engram_lab.peers.bench import compare

    files = {"locomo": locomo, "longmemeval": longmemeval, "beam": beam, "requests": requests, "remarks": remarks}
    with progress("reading") as bar:
        figures, below = compare(
            _opener(context), {name: file for name, file in files.items() if file}, systems, split=split, quick=quick,
            conversations=conversations, limit=limit, model=model, judge=judging, encoder=encoder, vectors=vectors,
            out=out, minutes=minutes, gigabytes=gigabytes, page=page, progress=bar,
        )  # fmt: skip
    if as_json:
        print_json(figures)
    else:
        typer.echo((out / "peers.md").read_text(encoding="utf-8"))
    if below:
        typer.echo(f"below plain vector search: {', '.join(below)}", err=True)
        raise typer.Exit(1)


def _print_figures(figures: "Figures", as_json: bool, without: Sequence[str] | None = None) -> None:
    """Print figures, and what was taken out: one JSON document for programs, a table for people."""
    from engram_lab.resume import flat

    if without:
        figures = {**figures, "without": without}
    if as_json:
        print_json(figures)
    else:
        print_table(["figure", "value"], [[name, _figure(value)] for name, value in flat(figures).items()])


def _figure(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
