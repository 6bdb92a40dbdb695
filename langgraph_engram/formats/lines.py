"""Read conversations out of lines of text: WhatsApp's chats, dialogues, notes and tables (CSV).

A message has an id made of its time, speaker and words, so that a file that has grown since, or that begins later,
stores only what is new. WhatsApp writes local times without an offset, and the date in the order of the phone: whether
day or month comes first is decided from the whole file, or asked for.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import StringIO
from itertools import groupby
from pathlib import PurePath
from typing import get_args

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.messages import Session, shown, to_messages_at
from langgraph_engram.schema import DateOrder, make_id
from langgraph_engram.state import Message

DATE = r"(?P<first>\d{1,4})(?P<mark>[./-])\s?(?P<second>\d{1,2})(?P=mark)\s?(?P<third>\d{1,4})\.?"
TIME = r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<seconds>\d\d))?(?:\s?(?P<half>[ap])\.?\s?m\.?)?"
STAMP = re.compile(rf"{DATE}(?:,?\s{TIME})?", re.IGNORECASE)
CHAT_LINE = re.compile(rf"[\u200e\u200f]?\[?(?P<stamp>{DATE},?\s{TIME})(?:\]\s?|\s[-–]\s)(?P<rest>.*)", re.IGNORECASE)
SAID = re.compile(r"(?P<speaker>[^:]{1,100}): (?P<text>.*)|(?P<silent>[^:]{1,100}):", re.DOTALL)
DIALOGUE_LINE = re.compile(r"(?P<speaker>[^\W\d_][\w .'’-]{0,39}): +(?P<text>\S.*)")
MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
APP_MARK = "\u200e"
"""WhatsApp sets it before what it writes itself: of pictures, calls, changes of the group."""
APP_WORDS = re.compile(rf"(?:{APP_MARK}[^\n]*|<[^<>\n]+>)(?:\n|$)|\s*{APP_MARK}<[^<>]*>\s*$")
APP_SAID = re.compile(
    r"\A\s*(?:null|You deleted this message|This message was deleted|Missed (?:group )?(?:voice|video) call|"
    r"[^\n]+ \(file attached\)|\w+-\d{8}-WA\d+\.\w+ \([^()\n]+\))\.?\s*(?:\n|$)"
)
"""What it writes itself on Android, where it sets no mark: as an English phone does, and pictures in any language."""
SECONDS = re.compile(r"\d{9,}(\.\d+)?")
"""A number of so many digits is seconds since 1970; of eight it is a day, 20240501."""
COLUMNS = {
    "text": ("text", "content", "message", "body"),
    "speaker": ("speaker", "name", "author", "sender", "from"),
    "role": ("role",),
    "said_at": ("said_at", "timestamp", "created_at", "datetime", "date", "time", "sent_at"),
    "session_id": ("session_id", "session", "conversation_id", "thread_id", "chat_id"),
    "id": ("external_id", "id", "message_id"),
}
"""What a column of a table is, by its title."""
YEAR_DIGITS, CENTURY, NOON = 4, 2000, 12


@dataclass(frozen=True)
class _Row:
    """A message before its date is read."""

    line: int
    """Where it begins, from 1."""
    fields: dict[str, str]
    session_id: str | None
    stamp: str = ""


def is_whatsapp(text: str) -> bool:
    """Return whether the first line is one of a WhatsApp chat."""
    return CHAT_LINE.match(text.lstrip().split("\n", 1)[0]) is not None


def is_table(text: str) -> bool:
    """Return whether the first line titles at least two columns, one of them the text of messages."""
    _, titles = _header(text)
    return len(titles) > 1 and "text" in titles


def is_dialogue(text: str) -> bool:
    """Return whether every line begins with a name and a colon, and a name recurs."""
    lines = [DIALOGUE_LINE.fullmatch(line.strip()) for line in text.split("\n") if line.strip()]
    names = Counter(line["speaker"] for line in lines if line)
    return bool(names) and all(lines) and max(names.values()) > 1


def whatsapp_sessions(text: str, name: str, date_order: DateOrder | None = None) -> list[Session]:
    """Read an exported chat: `[12/06/2024, 09:15:33] Ana: ...` or `12/06/24, 9:15 am - Ana: ...`; a session is a day.

    What WhatsApp writes itself and what has no text, such as a picture that is left out, is no message.
    """
    rows = _lines(text, _chat_line, "a line such as [12/06/2024, 09:15:33] Ana: text")
    for row in rows:
        row.fields["text"] = APP_SAID.sub("", MARKS.sub("", APP_WORDS.sub("", row.fields["text"]))).strip()
    said_rows = [
        _Row(row.line, {**row.fields, "said_at": time.isoformat()}, f"{_stem(name, 'whatsapp')}-{time:%Y-%m-%d}")
        for row, time in zip(rows, _read_times(rows, date_order), strict=True)
        if row.fields["speaker"] and row.fields["text"]
    ]
    return _sessions(said_rows)


def table_sessions(text: str, name: str, date_order: DateOrder | None = None) -> list[Session]:
    """Read a table with titled columns: a text, and perhaps who said it, their role, when, in which session, an id."""
    delimiter, titles = _header(text)
    if "text" not in titles:
        wanted = ", ".join(COLUMNS["text"])
        raise UnreadableFile(
            f"line 1: expected titles of columns, one of them {wanted}, not {shown(text.split(chr(10), 1)[0])}"
        )
    rows = [row for row in _rows(text, delimiter, titles, _stem(name)) if row.fields]
    dated = [row for row in rows if STAMP.fullmatch(row.stamp)]
    for row, time in zip(dated, _read_times(dated, date_order), strict=True):
        row.fields["said_at"] = time.isoformat()
    return _sessions(rows)


def dialogue_sessions(text: str, name: str, date_order: DateOrder | None = None) -> list[Session]:  # noqa: ARG001
    """Read lines that each begin with a name and a colon; other lines go on with the message before."""
    rows = _lines(text, _dialogue_line, "a name, a colon and what was said")
    return _sessions([replace(row, session_id=_stem(name)) for row in rows])


def note_sessions(text: str, name: str, date_order: DateOrder | None = None) -> list[Session]:  # noqa: ARG001
    """Read plain text: each paragraph is a message of the user."""
    lines = enumerate(text.split("\n"), start=1)
    paragraphs = [[*group] for is_blank, group in groupby(lines, lambda line: not line[1].strip()) if not is_blank]
    return _sessions(
        _Row(paragraph[0][0], {"text": "\n".join(line for _, line in paragraph)}, _stem(name))
        for paragraph in paragraphs
    )


def _lines(text: str, begin: Callable[[int, str], _Row | None], expected: str) -> list[_Row]:
    """Return the messages that lines begin; a line that begins none goes on with the one before."""
    rows: list[_Row] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if row := begin(number, line):
            rows.append(row)
        elif rows:
            rows[-1].fields["text"] += f"\n{line}"
        elif line.strip():
            raise UnreadableFile(f"line {number}: expected {expected}, not {shown(line)}")
    return rows


def _chat_line(number: int, line: str) -> _Row | None:
    """Return the message that a line of WhatsApp begins; one of nobody's where the app speaks itself."""
    found = CHAT_LINE.fullmatch(line)
    if found is None:
        return None
    said = SAID.fullmatch(found["rest"])
    speaker = MARKS.sub("", said["speaker"] or said["silent"]).strip(" ~") if said else ""
    return _Row(number, {"speaker": speaker, "text": said["text"] or "" if said else ""}, None, found["stamp"])


def _dialogue_line(number: int, line: str) -> _Row | None:
    said = DIALOGUE_LINE.fullmatch(line.strip())
    return _Row(number, said.groupdict(), None) if said else None


def _sessions(rows: Iterable[_Row]) -> list[Session]:
    """Return the sessions in the order in which they begin, and the messages of each in the order of their lines."""
    sessions: dict[str | None, list[Message]] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        fields = {name: text for name, value in row.fields.items() if (text := value.strip())}
        said = (row.session_id or "", fields.get("said_at", ""), fields.get("speaker", ""), fields.get("text", ""))
        counts[said] += 1
        fields.setdefault("id", make_id("line", *said[1:], str(counts[said])))
        if not fields.keys() & {"speaker", "role"}:
            fields["role"] = "user"
        item: dict[str, object] = dict(fields)
        if SECONDS.fullmatch(fields.get("said_at", "")):
            item["said_at"] = float(fields["said_at"])
        sessions.setdefault(row.session_id, []).extend(to_messages_at(f"line {row.line}", item))
    return [Session(session_id, messages) for session_id, messages in sessions.items()]


def _header(text: str) -> tuple[str, list[str]]:
    """Return the delimiter of a table and, by its first line, what each column is: a key of `COLUMNS`, or ""."""
    first = text.lstrip("\n").split("\n", 1)[0]
    plain = first.casefold().replace('"', "")
    headers = [(delimiter, list(map(_column, plain.split(delimiter)))) for delimiter in ",;\t|"]
    return max(headers, key=lambda header: sum(map(bool, header[1])))


def _column(title: str) -> str:
    return next((kind for kind, names in COLUMNS.items() if title.strip().replace(" ", "_") in names), "")


def _rows(text: str, delimiter: str, titles: Sequence[str], session_id: str | None) -> list[_Row]:
    csv.field_size_limit(2_000_000)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[_Row] = []
    begins = 1
    try:
        for cells in reader:
            if len(cells) > len(titles):
                raise UnreadableFile(
                    f"line {begins}: expected {len(titles)} cells as in the first line, not {len(cells)}"
                )
            filled = [(title, cell.strip()) for title, cell in zip(titles, cells, strict=False) if cell.strip()]
            fields = {title: cell for title, cell in reversed(filled) if title}
            session = fields.pop("session_id", session_id)
            if any(cells):
                rows.append(_Row(begins, fields, session, fields.get("said_at", "")))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(f"line {begins}: expected a row of a table: {error}") from error
    return rows[1:]


def _read_times(rows: Sequence[_Row], date_order: DateOrder | None) -> list[datetime]:
    """Read the dates in numbers of rows, all in one order of day and month; one that is uncertain is asked for."""
    read = {order: [_read_time(row.stamp, order) for row in rows] for order in get_args(DateOrder)}
    by_order = {order: [time for time in times if time] for order, times in read.items() if None not in times}
    if not by_order:
        row = rows[max(times.index(None) for times in read.values())]
        raise UnreadableFile(f"line {row.line}: {row.stamp!r} is no possible date in the order of the others")
    if date_order in by_order:
        return by_order[date_order]
    forward = [times for times in by_order.values() if times == sorted(times)]
    for certain in (list(by_order.values()), forward):
        if certain and all(times == certain[0] for times in certain):
            return certain[0]
    position = next(at for at, (one, other) in enumerate(zip(*by_order.values(), strict=True)) if one != other)
    day_first, month_first = (f"{times[position].day} {times[position]:%B %Y}" for times in by_order.values())
    raise InvalidInput(
        f"line {rows[position].line}: {rows[position].stamp!r} may be {day_first} or {month_first}: say which "
        f"with --date-order day_first or month_first"
    )


def _read_time(stamp: str, order: DateOrder) -> datetime | None:
    """Read one date with its time of day; with dots the day is first. None where there is no such day or time."""
    found = STAMP.fullmatch(stamp)
    assert found is not None  # the patterns of lines hold this one
    first, second, third = (int(found[part]) for part in ("first", "second", "third"))
    if len(found["first"]) == YEAR_DIGITS:
        year, month, day = first, second, third
    elif order == "day_first" or found["mark"] == ".":
        year, month, day = third, second, first
    else:
        year, month, day = third, first, second
    hour = int(found["hour"] or 0)
    if found["half"]:
        hour = hour % NOON + (NOON if found["half"] in "pP" else 0)
    try:
        year += CENTURY if year < 100 else 0
        return datetime(year, month, day, hour, int(found["minute"] or 0), int(found["seconds"] or 0), tzinfo=UTC)
    except ValueError:
        return None


def _stem(name: str, fallback: str | None = None) -> str | None:
    """Return the name of a file without folder and endings; the fallback for standard input."""
    path = PurePath(name)
    return path.name.split(".")[0] or fallback if path.suffix else fallback
