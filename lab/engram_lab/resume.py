"""Keep a run in a folder, so that one that was cut short goes on where it was, at no cost for what is done.

run.json             what the run was made with; a run of other settings is refused
questions.jsonl      one line a question, on disk as soon as it is answered
memories/NAME        a memory; one that was not written to its end is written anew
memories/NAME.json   what writing it took: it is there once the memory is written to its end
memories/NAME.answers.jsonl   what a language model answered while it is written: written anew, it costs nothing again
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from time import perf_counter, process_time
from typing import ClassVar, Generic, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from engram_lab.harness import WRITTEN, MemoryOpener, Progress, StrPath, WriteFigures, peak_memory_mib
from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.messages import Session
from langgraph_engram.schema import Frozen

QUESTIONS_FILE = "questions.jsonl"
SETTINGS_FILE = "run.json"
MEMORIES = "memories"
MOST_DIFFERENCES = 3
"""Settings that an error names."""

LineKey = tuple[str | int, ...]
Task = TypeVar("Task")


class KeyedLine(Frozen):
    """A line of a run, which one question alone has."""

    KEY: ClassVar[tuple[str, ...]]

    @property
    def key(self) -> LineKey:
        """Return what identifies the question."""
        return tuple(getattr(self, name) for name in self.KEY)


Line = TypeVar("Line", bound=KeyedLine)


class RunFolder(Generic[Line]):
    """The lines and memories of a run that is under way. Lines may be added from many threads."""

    def __init__(self, folder: Path, file: Path, lines: Sequence[Line]) -> None:
        """Go on with the lines of a file; of two lines of a question the later one counts."""
        self.folder = folder
        self.resumed = len(lines)
        """Lines that were there before."""
        self._file = file
        self._lines = {line.key: line for line in lines}
        self._lock = Lock()

    def lines_of(self, keys: Iterable[LineKey]) -> list[Line]:
        """Return the lines of these keys, in their order, as far as there are any."""
        return [self._lines[key] for key in keys if key in self._lines]

    def forget(self, keys: Iterable[LineKey]) -> None:
        """Take lines out, so that their questions are asked again; the new lines take their place in the file."""
        for key in keys:
            del self._lines[key]

    def unanswered(self, tasks: Mapping[LineKey, Task]) -> dict[LineKey, Task]:
        """Return the tasks without a line."""
        return {key: task for key, task in tasks.items() if key not in self._lines}

    def ask_all(
        self,
        tasks: Mapping[LineKey, Task],
        ask: Callable[[Task], Line],
        concurrency: int = 1,
        progress: Progress = None,
        step: str = "asking",
        after: Callable[[Task], None] | None = None,
    ) -> None:
        """Ask what has no line yet, several at once; each line is on disk before the next is asked for."""
        open_tasks = self.unanswered(tasks)
        done = len(tasks) - len(open_tasks)

        def answer(task: Task) -> None:
            self._append(ask(task))
            if after:
                after(task)

        with ThreadPoolExecutor(concurrency, thread_name_prefix="engram-bench") as pool:
            futures = [pool.submit(answer, task) for task in open_tasks.values()]
            try:
                for number, future in enumerate(as_completed(futures), start=done + 1):
                    future.result()
                    if progress:
                        progress(step, number, len(tasks))
            finally:
                pool.shutdown(cancel_futures=True)

    def finish(self, keys: Collection[LineKey]) -> list[Line]:
        """Bring the file into the order of the questions, and return their lines; other lines stay behind them."""
        found = self.lines_of(keys)
        ordered = {line.key: line for line in [*found, *self._lines.values()]}
        _replace(self._file, "".join(line.model_dump_json() + "\n" for line in ordered.values()))
        return found

    def memory(self, name: str) -> Path:
        """Return the folder of a memory."""
        return self.folder / MEMORIES / name

    def write_memory(
        self, name: str, open_memory: MemoryOpener, sessions: Sequence[Session], user_id: str, progress: Progress = None
    ) -> WriteFigures:
        """Write a memory, unless it was written to its end before, and return what that took."""
        folder = self.memory(name)
        known = self.written(name)
        if known and folder.exists():
            return known
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        started, processor_started = perf_counter(), process_time()
        with open_memory(str(folder)) as memory:
            receipt = memory.remember_sessions(sessions, user_id=user_id, progress=progress)
        figures = WriteFigures(
            counts={name: getattr(receipt, name) for name in WRITTEN},
            usage=receipt.usage,
            seconds=perf_counter() - started,
            processor_seconds=process_time() - processor_started,
            peak_memory_mib=peak_memory_mib(),
        )
        _replace(self._write_file(name), figures.model_dump_json())
        recording_of(folder).unlink(missing_ok=True)
        return figures

    def written(self, name: str) -> WriteFigures | None:
        """Return what writing a memory took; None for one that was not written to its end."""
        file = self._write_file(name)
        return WriteFigures.model_validate_json(file.read_bytes()) if file.exists() else None

    def drop_memory(self, name: str) -> None:
        """Delete a memory whose questions have their lines; what writing it took stays."""
        shutil.rmtree(self.memory(name), ignore_errors=True)

    def _write_file(self, name: str) -> Path:
        return self.folder / MEMORIES / f"{name}.json"

    def _append(self, line: Line) -> None:
        with self._lock, self._file.open("a", encoding="utf-8") as file:
            file.write(line.model_dump_json() + "\n")
            self._lines[line.key] = line


@contextmanager
def open_run(
    out: StrPath | None,
    made_with: Mapping[str, object],
    kind: type[Line],
    lines_file: str = QUESTIONS_FILE,
    settings_file: str = SETTINGS_FILE,
) -> Iterator[RunFolder[Line]]:
    """Begin a run in a folder, or go on with the one that is there.

    A last line that was cut off while it was written is removed from the file. The file is locked, at once or not at
    all; the lock of a run that died is released.
    """
    with ExitStack() as stack:
        temporary = None if out is not None else stack.enter_context(TemporaryDirectory(prefix="engram-bench-"))
        folder = Path(temporary or out or "")
        folder.mkdir(parents=True, exist_ok=True)
        lines = folder / lines_file
        try:
            stack.enter_context(FileLock(lines.with_name(f".{lines.name}.lock")).acquire(blocking=False))
        except Timeout as error:
            raise InvalidInput(f"another run writes to {str(lines)!r}: wait for it, or give another folder") from error
        _check_settings(folder / settings_file, lines, {"version": version("langgraph-engram"), **made_with})
        yield RunFolder(folder, lines, _read_lines(lines, kind))


def recording_of(folder: StrPath) -> Path:
    """Return the file that keeps a writer's answers while the memory in a folder is being written."""
    return Path(f"{os.fspath(folder)}.answers.jsonl")


def fingerprint(path: StrPath) -> str:
    """Return the SHA-256 of a file."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read: {error.strerror}") from error


def check_unique(keys: Iterable[LineKey], path: StrPath) -> None:
    """Check that each question of a file can have a line of its own."""
    counts = Counter(keys)
    twice = next((key for key, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UnreadableFile(f"{path} has two questions {' '.join(map(str, twice))!r}: give each a name of its own")


def whole_lines(path: Path) -> bytes:
    """Return a file without a last line that was cut off; nothing where there is no file."""
    whole, end, _ = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
    return whole + end


def _read_lines(path: Path, kind: type[Line]) -> list[Line]:
    """Read a run's lines, and remove one that was cut off from the file."""
    whole = whole_lines(path)
    try:
        lines = [kind.model_validate_json(line) for line in whole.split(b"\n") if line]
    except ValidationError as error:
        raise UnreadableFile(f"{path} holds lines of another benchmark: give another folder") from error
    if path.exists():
        os.truncate(path, len(whole))
    return lines


def _check_settings(path: Path, lines: Path, made_with: Mapping[str, object]) -> None:
    """Compare what a run is made with with what the folder's run was made with; a new folder's is kept."""
    wanted = json.loads(json.dumps(made_with))
    if not path.exists():
        if lines.exists():
            raise UnreadableFile(f"{lines} is there, and no {path.name} that says how it was made: give another folder")
        _replace(path, json.dumps(wanted, indent=2) + "\n")
        return
    try:
        held = json.loads(path.read_bytes())
    except ValueError as error:
        raise UnreadableFile(f"{path} is no JSON ({error}): give another folder") from error
    if held != wanted:
        before, now = ({name: json.dumps(value) for name, value in flat(made).items()} for made in (held, wanted))
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        differing = "; ".join(f"{name} was {before.get(name)}, is {now.get(name)}" for name in names[:MOST_DIFFERENCES])
        raise InvalidInput(f"{str(path.parent)!r} holds a run of other settings ({differing}): give another folder")


def flat(value: object, name: str = "") -> dict[str, object]:
    """Flatten nested JSON: {"a": {"b": 1}} gives {"a.b": 1}."""
    if not isinstance(value, dict):
        return {name: value}
    inner = (flat(item, f"{name}.{key}" if name else key) for key, item in value.items())
    return {key: item for items in inner for key, item in items.items()}


def _replace(path: Path, text: str) -> None:
    """Write a file in one step: whoever is killed meanwhile leaves the file as it was."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)
