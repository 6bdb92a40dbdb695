"""Learn which statements bear on a message, and write the weights where the package ships them.

python -m engram_lab.training.messages [--locomo FILE] [--longmemeval FILE] [--stores FOLDER] [--out FILE]

The people of `engram_lab.cases` who are not held out are remembered by rules, each alone, and among the chats of a user
of LongMemEval or, for two friends, the talks of LoCoMo, where these files are given. With `--stores` the memories stay
there, and are not written again. The same files give the same weights.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from engram_lab.cases import is_same, read_people, sessions_of
from engram_lab.datasets import read_locomo, read_longmemeval
from engram_lab.training import SHIPPED
from engram_lab.training.logistic import fit_logistic, rounded, stored, write
from langgraph_engram.formats.messages import Session
from langgraph_engram.logistic import Numbers
from langgraph_engram.memory import Memory
from langgraph_engram.retrieval.messages import FEATURES, WEIGHTS_FILE, statements_for
from langgraph_engram.retrieval.queries import with_context
from langgraph_engram.schema import Intent, Scope
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.statements import own_words

DIGITS = 4


def collect(people: Sequence[dict[str, Any]], backgrounds: Sequence[Sequence[Session]], stores: Path) -> Iterator[Any]:
    """Remember each person and yield, for each message, the features of statements and which of them bear on it."""
    for number, person in enumerate(people):
        chosen = backgrounds[number % len(backgrounds)]
        with Memory(stores / f"{person['id']}-{number % len(backgrounds)}-{bool(chosen)}", "rules") as memory:
            if not memory.status(person["id"]).turns:
                memory.remember_sessions(sessions_of(person, chosen), user_id=person["id"])
            index = memory.store.index(Scope(user_id=person["id"]))
            for message in person["messages"]:
                if message["type"] != "question":
                    yield _example(index, memory, person, message)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Learn which statements bear on a message.")
    parser.add_argument("--locomo", type=Path, default=None)
    parser.add_argument("--longmemeval", type=Path, default=None)
    parser.add_argument("--stores", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=SHIPPED / "retrieval" / WEIGHTS_FILE)
    chosen = parser.parse_args(arguments)
    talks = [sample.sessions for sample in read_locomo(chosen.locomo)] if chosen.locomo else []
    chats = [item.sessions for item in read_longmemeval(chosen.longmemeval)] if chosen.longmemeval else []
    people = read_people("fit")
    with TemporaryDirectory(prefix="engram-messages-") as temporary:
        stores = chosen.stores or Path(temporary)
        examples = list(collect(people, [()], stores))
        for form, backgrounds in (("assistant", chats), ("friends", talks)):
            if backgrounds:
                examples += collect([person for person in people if person["form"] == form], backgrounds, stores)
    features = np.concatenate([rows for rows, _ in examples])
    labels = np.concatenate([bears for _, bears in examples])
    write(stored(rounded(FEATURES, *fit_logistic(features, labels, np.ones(len(labels))), DIGITS)), chosen.out)


def _example(
    index: ScopeIndex, memory: Memory, person: dict[str, Any], message: dict[str, Any]
) -> tuple[Numbers, Numbers]:
    text = with_context(message["text"], [turn["text"] for turn in message["before"]])
    statements = statements_for(index, Intent(query=message["text"], anchor=text), memory.store.encoder)
    positions = statements.positions()
    needed = [fact for fact in person["facts"] if fact["id"] in message["needs"]]
    return statements.features(positions), np.array([_bears(index, at, needed) for at in positions], dtype=np.float64)


def _bears(index: ScopeIndex, position: int, needed: Sequence[dict[str, Any]]) -> bool:
    """Return whether a record says one of the facts that a message needs."""
    record = index.records.items[position]
    turns = {turn.external_id for turn in map(index.turns.get, record.source_turn_ids) if turn}
    said = own_words(record.content, record.speaker)
    return any(fact["turn"] in turns and is_same(fact["sentence"], said) for fact in needed)


if __name__ == "__main__":
    main()
