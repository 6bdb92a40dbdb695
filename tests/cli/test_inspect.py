"""`engram show` and `engram status` list and count what is stored for one user, `engram history` shows a lineage."""

import json
import re
from datetime import UTC, datetime

import pytest

from langgraph_engram.cli.inspect import COLUMNS, format_cell
from langgraph_engram.history import ItemKind


@pytest.mark.parametrize("other", [["ben"], ["ana", "--tenant", "elsewhere"], ["ana", "--agent", "gardener"]])
def test_nothing_is_shown_of_another_scope(remembered, other):
    """Ben's memory is empty although Ana's is not; the same user name elsewhere is another memory."""
    code, out, _ = remembered("show", "--kind", "turns", "--json", "--user", *other)

    assert (code, json.loads(out)) == (0, [])


@pytest.mark.parametrize("kind", ItemKind.__args__)
def test_every_kind_is_listed(remembered, kind):
    """All that `Memory` can show: a line for each item under its titles, with as many cells; JSON has as many items."""
    _, listed, _ = remembered("show", "--user", "ana", "--kind", kind)
    _, document, _ = remembered("show", "--user", "ana", "--kind", kind, "--json")

    items, lines = json.loads(document), listed.splitlines()
    assert len(lines) == len(items) + 1 if items else lines == [f"no {kind} are stored for ana"]
    if items:
        assert lines[0].split("\t") == list(COLUMNS[kind])
        assert {line.count("\t") for line in lines} == {len(COLUMNS[kind]) - 1}


@pytest.mark.parametrize(
    ("field", "value", "formatted"),
    [
        ("p_eb", 0.756, "0.76"),
        ("location", "", ""),
        ("event_start", None, ""),
        ("event_end", datetime(2024, 5, 1, 23, 59, tzinfo=UTC), "2024-05-01"),
        ("said_at", datetime(2024, 5, 1, 9, 30, tzinfo=UTC), "2024-05-01 09:30"),
        ("said_at", datetime.fromisoformat("2024-06-12T08:00:00+10:00"), "2024-06-12 08:00+10:00"),
        ("keywords", ["apple", "tree"], "apple, tree"),
        ("turn_ids", ["a"], "1"),
        ("covered_record_ids", ["a", "b"], "2"),
    ],
)
def test_cells_are_short(field, value, formatted):
    """Times to the minute, with an offset but UTC's; events to the day, rates to two digits, ids by their number."""
    assert format_cell(field, value) == formatted


def test_the_history_of_a_record_is_shown(moved):
    """For people a table of records and decisions, for programs both lists."""
    first = json.loads(moved("show", "--user", "ana", "--json")[1])[0]["record_id"]

    code, table, _ = moved("history", first, "--user", "ana")
    lineage = json.loads(moved("history", first, "--user", "ana", "--json")[1])

    assert code == 0
    assert all(word in table for word in ("Lisbon", "Porto", "superseded", "SUPERSEDE"))
    assert [record["content"] for record in lineage["records"]] == ["Ana: I live in Lisbon.", "Ana: I live in Porto."]
    assert len(lineage["decisions"]) == 1


@pytest.fixture
def terminal(remembered, monkeypatch):
    """Run a command on a terminal of so many columns; gives what is shown, without styles."""

    def command(columns, *arguments):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(columns))
        return re.sub(r"\x1b\[[0-9;]*m", "", remembered(*arguments)[1])

    return command


@pytest.mark.parametrize("kind", ["records", "events", "turns"])
def test_a_terminal_shows_words_and_ids_whole(remembered, terminal, kind):
    """No cell is a column of fragments: words stay whole, ids can be copied, and no line is longer than the screen.

    What is empty is left out.
    """
    items = json.loads(remembered("show", "--user", "ana", "--kind", kind, "--json")[1])

    shown = terminal(80, "show", "--user", "ana", "--kind", kind)

    text = {"records": "content", "events": "summary", "turns": "text"}[kind]
    id_field = f"{kind[:-1]}_id"
    assert all(item[id_field] in shown for item in items)
    assert all(word in shown.split() for item in items for word in item[text].split())
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80
    assert len(shown.splitlines()) <= 6 * len(items)
    assert shown.count("location") == sum(bool(item.get("location")) for item in items)
