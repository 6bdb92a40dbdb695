"""Report a comparison: figures as JSON, tables with intervals, plots, and the page of the documentation.

Nothing that is reported holds text of a data set.
"""

import inspect
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engram_lab.asked import CHANGED, FORGOTTEN, IDLE, UNANSWERABLE, Asked, Sets
from engram_lab.harness import MEDIAN, NEARLY_ALL, Figures, bootstrap_interval, mean, percentile
from engram_lab.peers.run import BUDGETS, COUNTS, GROWTH, READ_AT, ConversationLine, Found
from engram_peers.own import OWN
from engram_peers.process import OTHERS
from engram_peers.vector_store import VectorStore

ENGRAM, WHOLE = "engram", "whole"
TOLERANCE = 0.02
"""How much less a memory may show than a plain vector search within `READ_AT` tokens."""
FLOORS = ("turns", "sentences")
KINDS: Mapping[str, str] = {
    "locomo": "questions (LoCoMo)",
    "longmemeval": "haystacks (LongMemEval)",
    "beam": "work chats (BEAM)",
    "people": "messages of invented people",
    "requests": "requests among chats",
    "remarks": "remarks (LoCoMo-Plus)",
    f"updates, {CHANGED}": "changed values, the newest first",
    f"updates, {FORGOTTEN}": "what is to be forgotten, hidden",
}
REASONS: Mapping[str, str] = {
    "locomo": "its records and passages put the neighbours of a turn beside it, which costs tokens that a turn saves",
    "longmemeval": "single sentences of the user hold most of this evidence, and cost less than our passages of turns",
    "beam": "a sentence costs less than a passage of turns; orderings rest on more turns than either shows",
    "people": "a passage is shown with its neighbours, which costs tokens that a sentence saves",
    "requests": "a sentence alone costs less; what shares no word with a request is found by its meaning alone",
    "remarks": "what a remark bears on shares little with it, and short texts leave room for more guesses",
    f"updates, {CHANGED}": "rules keep what is said again in other words beside it, and tell the newest by words alone",
    f"updates, {FORGOTTEN}": "a wish to forget is text like any other until `forget` is called: no search obeys it",
}
Rows = dict[str, dict[str, dict[str, Any]]]
"""Figures by part of a data set, and by system."""


def evidence_rows(lines: Sequence[ConversationLine], sets: Sets) -> Rows:
    """Return a row for each data set, what is hard in it and each type, with a mean and its interval at each budget."""
    asked = {(data, of.name, at): question for data, some in sets.items() for of in some
             for at, question in enumerate(of.questions)}  # fmt: skip
    rows: dict[str, dict[str, list[Found]]] = {}
    for line in lines:
        for found in line.found:
            for part in _parts(line.data, asked[line.data, line.conversation, found.index]):
                rows.setdefault(part, {}).setdefault(line.system, []).append(found)
    return {part: {system: _figures(own, system) for system, own in by.items()} for part, by in rows.items()}


def _parts(data: str, asked: Asked) -> list[str]:
    typed = [f"{data}, {asked.type}"] if asked.type else []
    needing = [data, *([f"{data}, hard"] if asked.hard else [])] if asked.needed else []
    return needing + typed


def _figures(found: Sequence[Found], system: str) -> Figures:
    budgets = {str(budget): _with_interval([each.within[str(budget)] for each in found]) for budget in BUDGETS}
    return {
        "asked": len(found),
        "shown": mean(each.shown for each in found),
        "tokens": mean(each.tokens for each in found),
        "tokens p50": percentile([each.tokens for each in found], MEDIAN),
        "nothing shown": mean(float(each.tokens == 0) for each in found),
        "within": dict.fromkeys(budgets) if system == WHOLE else budgets,
    }


def _with_interval(values: Sequence[float | None]) -> list[float] | None:
    known = [value for value in values if value is not None]
    return [mean(known) or 0.0, *bootstrap_interval(known)] if known else None


def cost_rows(lines: Sequence[ConversationLine]) -> Rows:
    """Return what writing and searching took by data set and system; milliseconds, mebibytes, calls and tokens."""
    rows: Rows = {}
    for line in lines:
        data = f"{GROWTH} {line.conversation}" if line.data == GROWTH else line.data
        rows.setdefault(data, {}).setdefault(line.system, {"lines": []})["lines"].append(line)
    return {data: {system: _costs(of["lines"]) for system, of in by.items()} for data, by in rows.items()}


def _costs(lines: Sequence[ConversationLine]) -> Figures:
    milliseconds = [1000 * found.seconds for line in lines for found in line.found]
    messages = sum(line.messages for line in lines)
    return {
        "messages": messages,
        "stored": sum(line.stored or 0 for line in lines),
        "write_ms": 1000 * sum(line.write_seconds for line in lines) / messages if messages else None,
        "write_cpu_ms": 1000 * sum(line.write_cpu for line in lines) / messages if messages else None,
        "search_ms_p50": percentile(milliseconds, MEDIAN),
        "search_ms_p95": percentile(milliseconds, NEARLY_ALL),
        "memory_mib": max(line.memory_mib for line in lines),
        **{name: sum(getattr(line, name) for line in lines) for name in COUNTS},
        "failure": next((line.failure for line in lines if line.failure), ""),
    }


def report(lines: Sequence[ConversationLine], sets: Sets, made_with: Mapping[str, object]) -> dict[str, Any]:
    """Return all figures as plain JSON."""
    return {
        **made_with,
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "versions": {line.system: line.version for line in lines if line.version},
        "evidence": evidence_rows([line for line in lines if line.data != GROWTH], sets),
        "costs": cost_rows(lines),
    }


def below_floor(rows: Rows, names: Sequence[str]) -> list[str]:
    """Return the data sets on which engram shows less than a plain vector search."""
    shares = {name: {of: _at(row, READ_AT) for of, row in rows.get(name, {}).items()} for name in names}
    return [
        name
        for name, by in shares.items()
        if ENGRAM in by and by[ENGRAM] < max(by.get(floor, 0.0) for floor in FLOORS) - TOLERANCE
    ]


def _at(figures: Mapping[str, Any], budget: int) -> float:
    known = figures["within"][str(budget)]
    return known[0] if known else 0.0


def losses(rows: Rows) -> list[tuple[str, int, float, list[tuple[str, float]]]]:
    """Return where others show more: the kind of work, the tokens, our share, and who shows how much."""
    found = []
    for name, row in rows.items():
        if name not in KINDS or ENGRAM not in row:
            continue
        for budget in BUDGETS:
            own = _at(row[ENGRAM], budget)
            better = sorted(((system, _at(of, budget)) for system, of in row.items() if _at(of, budget) > own),
                            key=lambda pair: -pair[1])  # fmt: skip
            if better:
                found.append((name, budget, own, better))
    return found


def markdown(figures: Mapping[str, Any], systems: Sequence[str], images: str) -> str:
    """Return the page: what was compared, tables, plots and what we lose."""
    rows, costs = figures["evidence"], figures["costs"]
    kinds = {name: label for name, label in KINDS.items() if name in rows}
    parts = [
        Path(__file__).with_name("introduction.md").read_text(encoding="utf-8"),
        f"## Within {READ_AT:,} tokens\n\nPer cent of what is needed, with 95 % bootstrap intervals over questions; "
        "of what a user asked to forget, per cent not shown.\n",
        _table(["", *(f"{label} ({_asked(rows[name])})" for name, label in kinds.items())],
               [[system, *(_cell(rows[name].get(system), READ_AT) for name in kinds)] for system in systems]),
        f"![Evidence against tokens]({images}/peers-tokens.svg)\n",
        "## At other sizes\n\nPer cent within 250 / 500 / 1,000 / 2,000 tokens.\n",
        _table(["", *kinds.values()],
               [[system, *(_cells(rows[name].get(system)) for name in kinds)] for system in systems]),
        "## Precision\n\nWhat each shows by its own defaults: tokens and per cent of what is needed; then tokens for "
        "messages and questions on which nothing bears, and for how many of them nothing is shown.\n",
        _precision(rows, systems),
        "## Cost\n\nMade-up statements of one user, nothing cached. Others get vectors over loopback (1 to 3 ms): "
        "their memory is without the encoder. Last, what writing asked of a language model, on all sets.\n",
        _growth(costs, systems),
        f"![Evidence against the cost of writing]({images}/peers-cost.svg)\n\n"
        f"![Time of a search against size]({images}/peers-size.svg)\n",
        "## What we lose\n\nWhere others show more than engram, the best three; ~ within the interval of ours.\n",
        _lost(rows),
        "## What did not run\n",
        _failed(costs),
        "## The vector store of these tables\n\n<!-- not run: needs an encoder and data sets -->",
        f"```python\n{inspect.getsource(VectorStore)}```\n",
        _versions(figures),
    ]  # fmt: skip
    return "\n".join(parts)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _asked(row: Mapping[str, Mapping[str, Any]]) -> int:
    return max(int(of["asked"]) for of in row.values())


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _cell(figures: Mapping[str, Any] | None, budget: int) -> str:
    known = figures and figures["within"][str(budget)]
    return f"{100 * known[0]:.1f} ({100 * known[1]:.0f}-{100 * known[2]:.0f})" if known else "-"


def _cells(figures: Mapping[str, Any] | None) -> str:
    if not figures or not any(figures["within"].values()):
        return "-"
    return " / ".join(_percent((figures["within"][str(budget)] or [None])[0]) for budget in BUDGETS)


def _precision(rows: Rows, systems: Sequence[str]) -> str:
    needing = [name for name in KINDS if name in rows and name.split(",")[0] == name]
    idle = [name for name in rows if name.endswith((f", {IDLE}", f", {UNANSWERABLE}"))]
    of_idle = [f"{name} ({_asked(rows[name])}): tokens" for name in idle]
    titles = ["", "shown, %", "tokens", *of_idle, "nothing shown, %"]
    table = []
    for system in systems:
        own = [rows[name][system] for name in needing if system in rows[name]]
        none = [rows[name].get(system) for name in idle]
        table.append([
            system, _percent(mean(of["shown"] for of in own)), _number(mean(of["tokens"] for of in own)),
            *(_number(of["tokens"] if of else None) for of in none),
            _percent(mean(of["nothing shown"] for of in none if of)),
        ])  # fmt: skip
    return _table(titles, table)


def _number(value: Any, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _growth(costs: Rows, systems: Sequence[str]) -> str:
    sizes = [name for name in costs if name.startswith(GROWTH)]
    titles = ["", "write, ms a message", *(f"search of {name.split()[1]}, ms" for name in sizes), "memory, MiB"]
    table = []
    for system in systems:
        own = [costs[name].get(system, {}) for name in sizes] or [{}]
        times = [_number(of.get("search_ms_p50"), 1) for of in own if sizes]
        counts = [sum(by.get(system, {}).get(name, 0) for by in costs.values()) for name in COUNTS]
        memory = _number(own[-1].get("memory_mib"))
        table.append([system, _number(own[-1].get("write_ms"), 1), *times, memory, *map(_number, counts)])
    return _table([*titles, *(name.replace("_", " ") for name in COUNTS)], table)


def _lost(rows: Rows) -> str:
    told = []
    for name in KINDS:
        of_kind = [loss for loss in losses(rows) if loss[0] == name]
        if of_kind:
            where = "; ".join(
                f"within {budget:,} tokens {_percent(own)} against " + ", ".join(f"{_percent(share)} ({system})"
                for system, share in better[:3]) + (" ~" if better[0][1] <= high[str(budget)][2] else "")
                for _, budget, own, better in of_kind for high in [rows[name][ENGRAM]["within"]]
            )  # fmt: skip
            told.append(f"- **{KINDS[name]}**: {where}. Why: {REASONS[name]}.")
    return "\n".join(told or ["Nothing on these sets."]) + "\n"


def _failed(costs: Rows) -> str:
    told: dict[tuple[str, str], list[str]] = {}
    for data, by in costs.items():
        for system, of in by.items():
            if of["failure"]:
                told.setdefault((system, str(of["failure"])), []).append(data)
    rows = [[system, ", ".join(where), failure.replace("|", "/")] for (system, failure), where in told.items()]
    return _table(["", "on", "why"], rows) if rows else "All ran.\n"


def _versions(figures: Mapping[str, Any]) -> str:
    data = ", ".join(f"{name} `{value[:12]}`" for name, value in figures["data"].items())
    versions = ", ".join(f"{name} {value}" for name, value in figures["versions"].items())
    on, seed = figures["machine"], figures["seed"]
    absent = [name for name in (*OWN, *OTHERS) if name not in figures["versions"]]
    told = f"Not in this run, or not to its end: {', '.join(absent)}. " if absent else ""
    told += f"{on['cores']} cores, under a load of {on['load']:.1f} when it ended: times are of that.\n\n"
    told += f"Versions: {versions}; Python {on['python']}. Data, by SHA-256: {data or 'our own alone'}."
    return f"{told} Seed {seed}.\n"


def draw(figures: Mapping[str, Any], systems: Sequence[str], folder: Path) -> None:
    """Draw the three plots; matplotlib is asked for only here."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "langgraph-engram"
    rows, costs = figures["evidence"], figures["costs"]
    kinds = [name for name in KINDS if name in rows and FORGOTTEN not in name]
    shares = {system: [mean(_at(rows[name][system], budget) for name in kinds if system in rows[name])
                       for budget in BUDGETS] for system in systems if system != WHOLE}  # fmt: skip
    shares = {system: of for system, of in shares.items() if None not in of}
    sizes = [name for name in costs if name.startswith(GROWTH)]
    times = {system: [costs[name].get(system, {}).get("search_ms_p50") for name in sizes] for system in systems}
    writing = {system: costs[sizes[-1]].get(system, {}).get("write_ms") if sizes else None for system in shares}
    at = BUDGETS.index(READ_AT)
    plots: dict[str, tuple[str, str, dict[str, tuple[Sequence[Any], Sequence[Any]]]]] = {
        "tokens": ("tokens", "share of evidence", {name: (BUDGETS, of) for name, of in shares.items()}),
        "cost": ("milliseconds to write a message", f"share of evidence within {READ_AT:,} tokens",
                 {name: ([writing[name]], [of[at]]) for name, of in shares.items() if writing[name]}),
        "size": ("statements", "milliseconds of a search, median",
                 {name: ([int(size.split()[1]) for size in sizes], of) for name, of in times.items() if any(of)}),
    }  # fmt: skip
    for plot, (x_label, y_label, series) in plots.items():
        drawn = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = drawn.subplots()
        for name, (x, y) in series.items():
            number = list(systems).index(name)
            color, marker = f"C{number % 10}", "osD^v"[number // 10 % 5]
            axes.plot(x, y, marker=marker, label=name, color=color, linewidth=2.5 if name == ENGRAM else 1)
        axes.set(xlabel=x_label, ylabel=y_label, xscale="log", yscale="log" if plot == "size" else "linear")
        if plot != "cost" and series:
            axes.set_xticks(x, [f"{point:,}" for point in x])
            axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if series:
            axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        drawn.savefig(folder / f"peers-{plot}.svg", metadata={"Date": None, "Creator": None})
