"""Draw both graphs into `docs/architecture.md`, as LangGraph draws them; run by `make docs`."""

import re
from pathlib import Path

from langgraph_engram.memory import Memory

PAGE = Path(__file__).parent / "architecture.md"


def drawings() -> dict[str, str]:
    """Return the Mermaid text of each graph by name."""
    with Memory(store="memory:", model="rules", preset="engram", encoder="hashing") as memory:
        graphs = {"remember": memory.write_graph, "recall": memory.read_graph}
        return {name: graph.get_graph().draw_mermaid().strip() for name, graph in graphs.items()}


def redrawn(page: str) -> str:
    """Return the page with each drawing behind its mark, in place of the one that was there."""
    for name, drawing in drawings().items():
        block = f"<!-- graph: {name} -->\n```mermaid\n{drawing}\n```\n"
        old = re.compile(rf"<!-- graph: {name} -->\n(?:```mermaid\n.*?\n```\n)?", re.DOTALL)
        page = old.sub(lambda _, block=block: block, page)
    return page


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
