"""Learn how broad a query is from invented queries, and write the weights where the package ships them.

python training/breadth.py [--out FOLDER]

`breadth_queries.jsonl` is read as the sentences of `training/standing.py` are: a label and a text a line, and frames
that are filled with topics. Those about one person stand there in the first person too, as they are searched for. The
encoder is MiniLM.
"""

from collections.abc import Sequence
from pathlib import Path

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.retrieval.outline import KINDS, WEIGHTS_FILE
from training.standing import train, write_learned

QUERIES = Path(__file__).resolve().parent / "breadth_queries.jsonl"


def train_breadth(encoder: Encoder, path: Path = QUERIES) -> dict[str, dict[str, object]]:
    """Return an intercept and named weights for each kind of broad query."""
    return train(encoder, path, KINDS, prefixes=("",))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    write_learned(train_breadth, "retrieval", WEIGHTS_FILE, "tell broad queries from narrow ones", arguments)


if __name__ == "__main__":
    main()
