"""Draw the figures of the documentation out of the tables that they stand beside; run by `make docs`.

python docs/draw_figures.py    writes the pictures of benchmarks.md into docs/images; needs the extra docs
"""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

DOCS = Path(__file__).parent
PAGE = DOCS / "explanation" / "benchmarks.md"
IMAGES = DOCS / "images"
COLORS = ("#5e35b1", "#00897b", "#f4511e", "#3949ab")
UNREPEATABLE = {"Date": None, "Creator": None}
"""What would make a picture differ from one run to the next."""


def table(page: str, mark: str) -> tuple[list[str], dict[str, list[float]]]:
    """Read the table behind `<!-- figure: MARK -->`: its titles, and the numbers of its further rows by title."""
    block = page.split(f"<!-- figure: {mark} -->")[1].lstrip().split("\n\n")[0]
    titles, _, *rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in block.splitlines()]
    return titles, {row[0]: [number(cell) for cell in row[1:]] for row in rows}


def number(cell: str) -> float:
    """Read the number in a cell."""
    return float(re.sub(r"[^\d.]", "", cell))


def lines(titles: list[str], series: dict[str, list[float]], label: str, **limits: Any) -> Figure:
    """Draw a line for each row, over the numbers of the first row on a logarithmic scale."""
    title, points = titles[0], [number(point) for point in titles[1:]]
    drawn = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = drawn.subplots()
    for (name, values), color in zip(series.items(), COLORS, strict=False):
        axes.plot(points, values, marker="o", label=name, color=color)
    axes.set(xlabel=title, ylabel=label, xscale="log", xticks=points, **limits)
    axes.set_xticks([], minor=True)
    axes.set_xticklabels([f"{point:,.0f}" for point in points])
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return drawn


def main() -> None:
    """Draw all."""
    page = PAGE.read_text(encoding="utf-8")
    mpl.rcParams["svg.hashsalt"] = "langgraph-engram"
    recall = lines(*table(page, "recall-by-tokens"), "share of questions or evidence, %", ylim=(70, 100))
    time = lines(*table(page, "time-by-records"), "milliseconds of CPU, median", yscale="log")
    for name, drawn in {"recall-by-tokens": recall, "time-by-records": time}.items():
        drawn.savefig(IMAGES / f"{name}.svg", metadata=UNREPEATABLE)


if __name__ == "__main__":
    main()
