"""Render the templates: every text is escaped, whatever was said, and times are shown as their speaker's clock did."""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from langgraph_engram.schema import Record
from langgraph_engram.server.inspector.timeline import kind_of
from langgraph_engram.temporal.datetimes import format_day, format_moment

STYLE = "style.css"
CITATION = re.compile(r"(\[\d{1,3}\])")


@cache
def environment() -> Environment:
    """Return the templates of this package, read once."""
    templates = Environment(
        loader=PackageLoader("langgraph_engram.server.inspector"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters |= {
        "day": format_day,
        "moment": format_moment,
        "when": format_interval,
        "kind": kind_of,
        "words": words_of,
        "citations": split_citations,
        "spaced": lambda name: name.replace("_", " "),
        "plural": format_count,
    }
    return templates


def render(template: str, **context: Any) -> str:
    """Return a page."""
    return environment().get_template(template).render(context)


def stream(template: str, **context: Any) -> Iterator[str]:
    """Yield a page in parts, as far as what it iterates over has come."""
    yield from environment().get_template(template).generate(context)


@cache
def style() -> str:
    """Return the style sheet."""
    source, *_ = PackageLoader("langgraph_engram.server.inspector").get_source(environment(), STYLE)
    return source


def words_of(record: Record) -> str:
    """Return what a record says, without the name of its speaker before it."""
    return record.content.removeprefix(f"{record.speaker}: ") if record.speaker else record.content


def format_interval(record: Record) -> str:
    """Format when something happened: a day, a span of days, or nothing where that is unknown."""
    start, end = record.event_start, record.event_end
    if start is None or end is None:
        return _day(start or end)
    if start.date() == end.date():
        return _day(start)
    return f"{_day(start)} – {_day(end)}"


def split_citations(answer: str, passages: int) -> list[tuple[str, int]]:
    """Return the parts of an answer, each with the number of the passage that it cites; 0 for text."""
    parts = [(part, int(part[1:-1]) if CITATION.fullmatch(part) else 0) for part in CITATION.split(answer) if part]
    return [(part, number if number <= passages else 0) for part, number in parts]


def format_count(number: int, thing: str, things: str = "") -> str:
    """Format a number of things: "1 turn", "1,024 turns"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def _day(moment: datetime | None) -> str:
    return format_day(moment) if moment else ""
