"""Learn how broad a query is from invented queries, and write the weights where the package ships them.

python training/breadth.py [--out FOLDER]

`breadth_queries.jsonl` is read as the sentences of `training/standing.py` are: a label and a text a line, and frames
that are filled with topics. Those about one person stand there in the first person too, as they are searched for. The
encoder is MiniLM.
"""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.retrieval.outline import KINDS, WEIGHTS_FILE
from training.standing import train

QUERIES = Path(__file__).resolve().parent / "breadth_queries.jsonl"


def train_breadth(encoder: Encoder, path: Path = QUERIES) -> dict[str, dict[str, object]]:
    """Return an intercept and named weights for each kind of broad query."""
    return train(encoder, path, KINDS, prefixes=("",))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    package = Path(__file__).resolve().parent.parent / "langgraph_engram" / "retrieval"
    parser = ArgumentParser(description="Learn the weights that tell broad queries from narrow ones.")
    parser.add_argument("--out", type=Path, default=package)
    chosen = parser.parse_args(arguments)
    path = chosen.out / WEIGHTS_FILE
    learned = train_breadth(open_encoder(None).inner)
    path.write_text(json.dumps(learned, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
