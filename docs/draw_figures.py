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


def bars(titles: list[str], rows: dict[str, list[float]]) -> Figure:
    """Draw a panel of bars for each column, a bar for each row."""
    drawn = Figure(figsize=(8, 3.2), layout="constrained")
    for column, axes in enumerate(drawn.subplots(1, len(titles) - 1, sharey=True)):
        values = [row[column] for row in rows.values()]
        axes.bar_label(axes.barh([*rows], values, color=COLORS[0]), fmt="%g", padding=3)
        axes.set(title=titles[column + 1], xlim=(0, 1.25 * max(values)))
        axes.title.set_fontsize(10)
        axes.spines[["top", "right"]].set_visible(False)
    axes.invert_yaxis()
    return drawn


def main() -> None:
    """Draw all."""
    page = PAGE.read_text(encoding="utf-8")
    mpl.rcParams["svg.hashsalt"] = "langgraph-engram"
    recall = lines(*table(page, "recall-by-tokens"), "share of questions or evidence, %", ylim=(70, 100))
    time = lines(*table(page, "time-by-records"), "milliseconds of CPU, median", yscale="log")
    against = bars(*table(page, "against"))
    for name, drawn in {"recall-by-tokens": recall, "time-by-records": time, "against": against}.items():
        drawn.savefig(IMAGES / f"{name}.svg", metadata=UNREPEATABLE)


if __name__ == "__main__":
    main()
