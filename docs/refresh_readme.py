"""Draw both graphs into the README, as LangGraph draws them. `make docs` runs this; a test says when it is due."""

import re
from pathlib import Path

from langgraph_engram.embeddings.hashing import HashingEncoder
from langgraph_engram.memory import Memory

README = Path(__file__).parent.parent / "README.md"


def drawings() -> dict[str, str]:
    """Give the Mermaid text of each graph by name."""
    with Memory(store="memory:", model="rules", preset="engram", encoder=HashingEncoder()) as memory:
        graphs = {"remember": memory.write_graph, "recall": memory.read_graph}
        return {name: graph.get_graph().draw_mermaid().strip() for name, graph in graphs.items()}


def refreshed(readme: str) -> str:
    """Give the README with each drawing behind its mark, in place of what stood there."""
    for name, drawing in drawings().items():
        block = f"<!-- graph: {name} -->\n```mermaid\n{drawing}\n```\n"
        old = re.compile(rf"<!-- graph: {name} -->\n(?:```mermaid\n.*?\n```\n)?", re.DOTALL)
        readme = old.sub(lambda _, block=block: block, readme)
    return readme


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")
