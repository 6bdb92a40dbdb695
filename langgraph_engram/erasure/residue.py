"""Look for what ought to be gone: in every collection, in the checkpoints, and in the files that both are kept in.

What is found is named by where it is, never by what it says. Files that are not of this machine, a server's, are not
looked into.
"""

import json
import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.erasure.traces import LEAST_TELLING, Marks, files_of, threads_with
from langgraph_engram.schema import Scope
from langgraph_engram.stores.store import Row, Store

SAMPLES = 20
"""Texts that files are searched for, the longest: each costs a reading of all files."""
SAMPLE_BYTES = 80
"""Bytes of such a text that are looked for: a database may keep the rest of a long one elsewhere."""


@dataclass(frozen=True)
class Residue:
    """Look through a store and its checkpoints."""

    store: Store
    checkpointer: BaseCheckpointSaver[str] | None

    def left(self, scope: Scope, marks: Marks, *, of_everything: bool) -> list[str]:
        """Say where anything of what was forgotten is left; nothing where it is not.

        Args:
            scope: Whose memories were forgotten.
            marks: The ids and texts of what was.
            of_everything: Whether all of the scope was, so that anything at all under it is too much.
        """
        left = [f"{kind}: {count} in the store" for kind, count in self._rows(scope, marks, of_everything).items()]
        wanted = None if of_everything else marks
        if self.checkpointer and (threads := threads_with(self.checkpointer, scope, wanted)):
            left.append(f"checkpoints: {len(threads)} threads")
        runs = files_of(self.checkpointer) if self.checkpointer else []
        files = sorted({one.resolve() for one in (*self.store.scrub(scope), *runs)})
        return left + [f"file: {one.name}" for one in files_with(files, self._only_there(marks) if files else ())]

    def _rows(self, scope: Scope, marks: Marks, of_everything: bool) -> dict[str, int]:
        """Count the rows that should be gone or hold what should be, by kind; rows are read where a kind has any."""
        rows: dict[str, list[Row]] = {}
        for row in self.store.rows(scope):
            rows.setdefault(row.kind, []).append(row)
        if of_everything:
            return {kind: len(each) for kind, each in rows.items()}
        suspected = [kind for kind, each in rows.items() if marks.lie_in(text for row in each for text in row.texts)]
        return {kind: sum(marks.lie_in(row.texts) for row in rows[kind]) for kind in suspected}

    def _only_there(self, marks: Marks) -> list[str]:
        """Give the longest texts that nobody else's memories say, as samples."""
        longest = sorted(marks.texts, key=lambda text: (-len(text), text))[:SAMPLES]
        return [text for text in longest if len(text) >= LEAST_TELLING and not self.store.says(text)]


def files_with(files: Iterable[Path], texts: Sequence[str]) -> Iterator[Path]:
    """Give the files in which the beginning of a text stands, as it is or as JSON writes it."""
    samples = {one.encode()[:SAMPLE_BYTES] for text in texts for one in (text, json.dumps(text)[1:-1])}
    for path in files if samples else ():
        if path.stat().st_size:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if any(content.find(sample) >= 0 for sample in samples):
                    yield path
