"""Draw both graphs, node by node and edge by edge as LangGraph compiled them; run by `make docs`.

python docs/draw_graphs.py    writes docs/images/remember.svg and recall.svg
"""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from langchain_core.runnables.graph import Graph

from langgraph_engram.memory import Memory

IMAGES = Path(__file__).parent / "images"
BOX_WIDTH, BOX_HEIGHT, STEP, LANE, MARGIN = 170, 30, 54, 22, 16
ENDS = {"__start__": "start", "__end__": "end"}
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
    'role="img" aria-label="{label}" font-family="system-ui, sans-serif" font-size="13">\n'
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>\n'
    '<rect width="100%" height="100%" rx="8" fill="#fff"/>\n'
)

Arc = tuple[int, int, bool]
"""From which node to which, by position, and whether the edge depends on the state."""


def drawings() -> dict[str, str]:
    """Return the drawing of each graph by name, as SVG."""
    with Memory(store="memory:", model="rules", preset="engram", encoder="hashing") as memory:
        graphs = {"remember": memory.write_graph, "recall": memory.read_graph}
        return {name: draw(graph.get_graph(), f"The graph {name}") for name, graph in graphs.items()}


def draw(graph: Graph, label: str) -> str:
    """Draw nodes one below the other; edges that skip nodes go round them, back on the left, on conditions dashed."""
    nodes = [name for name in graph.nodes if name != "__end__"] + ["__end__"]
    position = {name: index for index, name in enumerate(nodes)}
    arcs: list[Arc] = [(position[edge.source], position[edge.target], edge.conditional) for edge in graph.edges]
    forward = lanes(arc for arc in arcs if arc[1] > arc[0] + 1)
    backward = lanes(arc for arc in arcs if arc[1] < arc[0])
    left = MARGIN + LANE * width_of(backward)
    width = left + BOX_WIDTH + LANE * width_of(forward) + MARGIN
    height = 2 * MARGIN + STEP * (len(nodes) - 1) + BOX_HEIGHT
    drawn = [HEAD.format(width=width, height=height, label=escape(label))]
    drawn += [box(name, left, index) for index, name in enumerate(nodes)]
    for source, target, conditional in arcs:
        if target == source + 1:
            middle = left + BOX_WIDTH // 2
            path = f"M{middle} {top(source) + BOX_HEIGHT}V{top(target) - 1}"
        elif target > source:
            path = around(source, target, left + BOX_WIDTH, LANE * (1 + forward[source, target, conditional]))
        else:
            path = around(source, target, left, -LANE * (1 + backward[source, target, conditional]))
        dashes = ' stroke-dasharray="4 3"' if conditional else ""
        drawn.append(f'<path d="{path}" fill="none" stroke="#555"{dashes} marker-end="url(#tip)"/>\n')
    return "".join([*drawn, "</svg>\n"])


def lanes(arcs: Iterable[Arc]) -> dict[Arc, int]:
    """Give each arc a lane, short ones the nearest, in which no other covers the same nodes."""
    taken: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda arc: (abs(arc[1] - arc[0]), arc)):
        first, last = sorted(arc[:2])
        busy = {lane for other, lane in taken.items() if min(other[:2]) <= last and max(other[:2]) >= first}
        taken[arc] = next(lane for lane in range(len(taken) + 1) if lane not in busy)
    return taken


def width_of(taken: dict[Arc, int]) -> int:
    """Return how many lanes are taken."""
    return max(taken.values(), default=-1) + 1


def top(position: int) -> int:
    """Return the upper edge of a node, in pixels."""
    return MARGIN + STEP * position


def box(name: str, left: int, position: int) -> str:
    """Draw a node."""
    fill, label = ("#e8e6f5", ENDS[name]) if name in ENDS else ("#f7f6ff", name)
    middle = top(position) + BOX_HEIGHT // 2
    return (
        f'<rect x="{left}" y="{top(position)}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="{fill}" '
        f'stroke="#7c6fcd"/><text x="{left + BOX_WIDTH // 2}" y="{middle + 5}" text-anchor="middle" fill="#222">'
        f"{escape(label)}</text>\n"
    )


def around(source: int, target: int, edge: int, reach: int) -> str:
    """Return a path beside the nodes, from the edge of one to that of another."""
    begin, end = top(source) + BOX_HEIGHT * 2 // 3, top(target) + BOX_HEIGHT // 3
    turn, down = (6 if reach > 0 else -6), (6 if end > begin else -6)
    side = edge + reach
    return (
        f"M{edge} {begin}H{side - turn}q{turn} 0 {turn} {down}V{end - down}q0 {down} {-turn} {down}"
        f"H{edge + (1 if reach > 0 else -1)}"
    )


def main(names: Sequence[str] = ("remember", "recall")) -> None:
    """Write the drawings."""
    for name, drawing in drawings().items():
        if name in names:
            (IMAGES / f"{name}.svg").write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
