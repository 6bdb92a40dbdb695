"""Export memories to JSON lines, and load them: into the same store, or into one with another encoder or on a server.

The first line names the format and its version, each further line holds one item under its scope and kind, and the last
one counts the items, so that a file that was cut off is noticed. Items come by scope, kind and the order in which they
were first written. Nothing in a file depends on where or when it was written: what is loaded and exported again is the
same, byte for byte. Vectors are not in it; the store that loads the items makes its own.
"""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar, Union, cast

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.files import EXPORT_FORMAT, GZIP_MAGIC
from langgraph_engram.pending import FORGET, LOAD, RECEIVE
from langgraph_engram.results import ExportReceipt, LoadReceipt
from langgraph_engram.schema import Frozen, PendingTask, Scope, make_id
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.index import BOUNDARIES, DECISIONS, EVENTS, PENDING_TASKS, RECORDS, SYNTHESES, TURNS, Kind

M = TypeVar("M", bound=BaseModel)

VERSION = 1
ORDER: tuple[Kind[Any], ...] = (PENDING_TASKS, TURNS, EVENTS, BOUNDARIES, RECORDS, SYNTHESES, DECISIONS)
"""The order of a scope's items: tasks come before the turns that they are about, as in a commit."""
BATCH = 500
PARTIAL = ".unfinished"
"""How the name of a file ends that is being written."""
EXPORTING = ".engram.exporting-"
"""How a file of the store is called that names such a file."""


class Header(Frozen):
    """The first line."""

    format: Literal["langgraph-engram"]
    version: Literal[1]


class ItemLine(Frozen):
    """One item; each kind has a subclass."""

    kind: str
    scope: Scope
    item: Frozen


class Footer(Frozen):
    """The last line."""

    items: int = Field(ge=0)


def _line_of(kind: Kind[Any]) -> type[ItemLine]:
    item = kind.model.__name__
    fields: dict[str, Any] = {"kind": (Literal[kind.name], ...), "item": (kind.model, ...)}
    return create_model(f"{item}Line", __base__=ItemLine, __doc__=f"One {item}.", **fields)


ITEM_LINES: Any = Union[*map(_line_of, ORDER)]
ITEM_LINE: TypeAdapter[ItemLine] = TypeAdapter(Annotated[ITEM_LINES, Field(discriminator="kind")])
KIND_OF: dict[str, Kind[Any]] = {kind.name: kind for kind in ORDER}


def export_file(store: ChromaStore, path: Path, scope: Scope | None = None, *, everyone: bool = False) -> ExportReceipt:
    """Write what is stored of a scope, or of everyone, to a file, gzipped if its name ends in .gz.

    No run commits to a scope while it is written; of a whole scope a page is held at a time. A failure leaves whatever
    stood under the name as it was; what a killed process leaves is called unfinished, and replaced by the next export.

    Raises:
        InvalidInput: Neither a scope nor everyone is named, or both.
        UnreadableFile: The file cannot be written.
    """
    if everyone is (scope is not None):
        raise InvalidInput("whose memory is exported? Name one user, or everyone")
    scopes = store.scopes() if scope is None else [scope]
    counts = dict.fromkeys(KIND_OF, 0)
    with _written(path, store.folder) as file:
        file.write(f"{Header(format=EXPORT_FORMAT, version=VERSION).model_dump_json()}\n".encode())
        for owner in scopes:
            with store.committing(owner):
                for kind in ORDER:
                    for item in store.items(owner, kind):
                        # A task at one of these steps is about what is not stored, or does not stay.
                        if getattr(item, "step", None) not in (RECEIVE, FORGET, LOAD):
                            head = f'{{"kind":"{kind.name}","scope":{owner.model_dump_json()},"item":'
                            file.write(f"{head}{item.model_dump_json()}}}\n".encode())
                            counts[kind.name] += 1
        file.write(f"{Footer(items=sum(counts.values())).model_dump_json()}\n".encode())
    return ExportReceipt(path=str(path), scopes=len(scopes), **counts)


def load_file(store: ChromaStore, path: Path, scope: Scope | None = None) -> LoadReceipt:
    """Load an exported file. What is stored already stays as it is.

    The file is read twice: it is checked whole before anything is written. A load that was cut off is pending in
    each of its scopes, and completed by loading again.

    Args:
        scope: Whose memory it becomes; by default that of each line.

    Raises:
        UnreadableFile: It is missing, cut off, or not such a file; the error has the line.
        InvalidInput: It names several scopes beside `scope`.
        StoreError: The store cannot write; the same call again does the rest.
    """
    scopes = {line.scope.key: line.scope for line in _read_export(path)}
    if scope is not None and len(scopes) > 1:
        raise InvalidInput(
            f"{path}: holds memories of {len(scopes)} users, agents or tenants: load it without naming a user"
        )
    owners, unfinished = [scope] if scope else [*scopes.values()], _unfinished(str(path.resolve()))
    loaded, known, differing = dict.fromkeys(KIND_OF, 0), 0, 0
    for _, lines in groupby(_read_export(path), lambda line: (line.scope.key, line.kind)):
        while batch := list(islice(lines, BATCH)):
            kind, owner = KIND_OF[batch[0].kind], scope or batch[0].scope
            items: list[Any] = [line.item for line in batch]
            with store.committing(owner):
                stored = _stored(store, owner, kind, items)
                new = [item for item in items if kind.id_of(item) not in stored]
                if new and not any(loaded.values()):
                    for named in owners:
                        store.commit(named, Changes(pending_tasks=[unfinished]))
                if new:
                    changes: dict[str, Any] = {kind.name: new}
                    store.commit(owner, Changes(**changes))
            loaded[kind.name] += len(new)
            known += len(items) - len(new)
            differing += sum(item != stored.get(kind.id_of(item), item) for item in items)
    for owner in owners:
        if store.stored(owner, PENDING_TASKS, [unfinished.pending_id]):
            store.commit(owner, Changes(completed=[unfinished.pending_id]))
    return LoadReceipt(path=str(path), scopes=len(scopes), known=known, differing=differing, **loaded)


def _unfinished(path: str) -> PendingTask:
    """Return the task that a scope has until a file is loaded."""
    named = {"pending_id": make_id(LOAD, path), "run_id": path, "session_id": "", "turn_ids": [], "step": LOAD}
    reason = f"{path} is loaded in part: load it again"
    return PendingTask.model_validate({**named, "reason": reason, "since": datetime.now(UTC)})


def _stored(store: ChromaStore, scope: Scope, kind: Kind[Any], items: list[Any]) -> dict[str, Any]:
    """Return what is stored of items, by id; of pending tasks also those whose turns are all there: they are done."""
    stored = store.stored(scope, kind, [kind.id_of(item) for item in items])
    if kind is PENDING_TASKS:
        turns = store.stored(scope, TURNS, list({turn_id for task in items for turn_id in task.turn_ids}))
        done = [task for task in items if turns and turns.keys() >= set(task.turn_ids)]
        stored = {task.pending_id: task for task in done} | stored
    return stored


@contextmanager
def _written(path: Path, folder: Path | None) -> Iterator[IO[bytes]]:
    """Open a file to be written beside its name, which the store notes, and put it there once it is whole."""
    beside = path.absolute().with_name(f"{path.name}{PARTIAL}")
    note = folder / f"{EXPORTING}{make_id(str(beside))}" if folder else beside
    try:
        note.write_text(str(beside), "utf-8")
        with beside.open("wb") as raw:
            is_packed = path.suffix == ".gz"
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if is_packed else nullcontext(raw) as file:
                yield cast(IO[bytes], file)
        beside.replace(path)
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
        note.unlink(missing_ok=True)


def unfinished_exports(folder: Path | None) -> list[str]:
    """Return the files that exports of a store left when their process died."""
    noted = (note.read_text("utf-8") for note in folder.glob(f"{EXPORTING}*")) if folder else ()
    return [name for name in noted if Path(name).exists()]


def _check_header(path: Path, line: bytes) -> None:
    header: object = None
    with suppress(ValueError):
        header = json.loads(line)
    if not isinstance(header, dict) or header.get("format") != EXPORT_FORMAT:
        raise UnreadableFile(f"{path}: expected an export, whose first line names the format {EXPORT_FORMAT!r}")
    if header.get("version") != VERSION:
        raise UnreadableFile(
            f"{path}: has version {header.get('version')!r} and this one reads {VERSION}: export it again with a "
            f"version that writes {VERSION}"
        )


def _read_export(path: Path) -> Iterator[ItemLine]:
    """Yield the items of an export, and check its header and, at the end, its count."""
    if path.name.endswith(PARTIAL):
        raise UnreadableFile(f"{path}: is an export that did not reach its end: export it again")
    lines = _lines(path)
    _check_header(path, next(lines, b""))
    count, footer = 0, None
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        if footer is not None:
            raise UnreadableFile(f"{path}: expected the end at line {number}: two files in one? Load each by itself")
        if line.startswith(b'{"items"'):
            footer = _validated(TypeAdapter(Footer), line, f"{path}: line {number}")
        else:
            yield _validated(ITEM_LINE, line, f"{path}: line {number}")
            count += 1
    if footer is None:
        raise UnreadableFile(f"{path}: is cut off after {count} items: export it again")
    if footer.items != count:
        raise UnreadableFile(f"{path}: holds {count} items and says it has {footer.items}: export it again")


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            raw.seek(0)
            yield from gzip.GzipFile(fileobj=raw) if is_packed else raw
    except (OSError, EOFError) as error:
        raise UnreadableFile(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _validated(adapter: TypeAdapter[M], line: bytes, where: str) -> M:
    try:
        return adapter.validate_json(line)
    except ValidationError as error:
        detail = error.errors()[0]
        field_name = ".".join(map(str, detail["loc"]))
        raise UnreadableFile(f"{where}: {f'{field_name}: ' if field_name else ''}{detail['msg']}") from error
