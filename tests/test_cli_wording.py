"""What the command line says of receipts and answers is true, and steers no terminal."""

import json
from datetime import UTC, datetime

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.cli.format import cites, counted, format_receipt, print_recollection
from langgraph_engram.cli.inspect import cell
from langgraph_engram.cli.output import one_line
from langgraph_engram.cli.remember import report
from langgraph_engram.results import Receipt, Recollection
from langgraph_engram.schema import Evidence, PendingTask

PENDING = PendingTask(
    pending_id="p",
    run_id="r",
    session_id="one",
    turn_ids=["a", "b"],
    step="extract",
    reason="nothing answers at localhost",
    since=datetime(2024, 5, 1, tzinfo=UTC),
)


def test_a_write_that_only_stored_turns_has_failed(capsys):
    """No record came of it: code 1, with the reason and what to do."""
    receipt = Receipt(run_id="r", stored_turns=2, pending=2)

    with pytest.raises(typer.Exit) as failure:
        report(receipt, [PENDING], "ana b", as_json=True)

    told = capsys.readouterr()
    assert failure.value.exit_code == 1
    assert "nothing answers at localhost" in json.loads(told.out)["error"]
    assert "engram retry --user 'ana b'" in told.err


def test_a_write_that_is_done_in_part_says_what_is_left(capsys):
    """Records came of it: it is done, and the rest is told."""
    receipt = Receipt(run_id="r", stored_turns=9, records=4, pending=2)

    report(receipt, [PENDING], "ana", as_json=False)

    told = capsys.readouterr()
    assert told.out.splitlines()[0].startswith("9 turns stored")
    assert "2 turns can be found, but later steps are pending (nothing answers at localhost)" in told.out


def test_turns_known_and_new_are_both_told():
    """A longer version of a known file says how much of it was known."""
    told = format_receipt(Receipt(run_id="r", stored_turns=1, known_turns=7, events=1, records=1))

    assert told == "1 turn stored, 7 known before, 1 event, 1 record, 0 decisions, 0 syntheses"


@pytest.mark.parametrize(
    ("said_at", "shown"),
    [("2024-06-12T08:00:00+00:00", "2024-06-12 08:00"), ("2024-06-12T08:00:00+10:00", "2024-06-12 08:00+10:00")],
)
def test_a_moment_is_shown_with_an_offset_that_is_not_utc(said_at, shown):
    """Moments on several clocks can be told apart in one table."""
    assert cell("said_at", datetime.fromisoformat(said_at)) == shown


def test_a_line_of_what_is_missing_fits_on_a_screen(capsys):
    """Nobody reads a word of twenty thousand letters."""
    print_recollection(Recollection(query="q", answer="?", verdict="absent", missing=["x" * 20_000, "boats"]))

    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("missing: "))
    assert first == f"missing: {'x' * 200}..."
    assert second == "missing: boats"


def test_only_cited_evidence_is_shown_with_an_answer(capsys):
    """What an answer rests on is shown under its own number."""
    pieces = [Evidence(evidence_id=str(number), text=f"piece {number}") for number in range(1, 4)]

    print_recollection(Recollection(query="?", answer="At sea [2].", verdict="sufficient", evidence=pieces))

    shown = capsys.readouterr().out
    assert "[2] piece 2" in shown
    assert "piece 1" not in shown


def test_what_is_absent_shows_no_evidence(capsys):
    """Pieces that do not answer are not put forward as if they did."""
    pieces = [Evidence(evidence_id="1", text="piece 1")]

    print_recollection(Recollection(query="?", answer="I don't know.", verdict="absent", evidence=pieces))

    assert "piece" not in capsys.readouterr().out


@given(st.text())
def test_no_text_steers_a_terminal(text):
    """Whatever was said, it is shown on one line without a control character."""
    shown = one_line(text)

    assert all(character >= " " and not "\x7f" <= character <= "\x9f" for character in shown)


@pytest.mark.parametrize(
    ("answer", "number", "cited"),
    [("At sea [2].", 2, True), ("[1, 12]", 12, True), ("[12]", 1, False), ("1", 1, False)],
)
def test_citations_are_told_from_numbers(answer, number, cited):
    """A piece is cited by its number in brackets, alone or among others."""
    found = cites(answer, number)

    assert found == cited


@pytest.mark.parametrize(("number", "worded"), [(0, "0 turns"), (1, "1 turn"), (1234, "1,234 turns")])
def test_one_is_singular(number, worded):
    """A count agrees with its noun."""
    told = counted(number, "turn")

    assert told == worded


@pytest.mark.parametrize(
    ("field", "value", "worded"),
    [
        ("p_eb", 0.756, "0.76"),
        ("location", "", ""),
        ("event_start", None, ""),
        ("event_end", datetime(2024, 5, 1, 23, 59, tzinfo=UTC), "2024-05-01"),
        ("said_at", datetime(2024, 5, 1, 9, 30, tzinfo=UTC), "2024-05-01 09:30"),
        ("keywords", ["apple", "tree"], "apple, tree"),
        ("turn_ids", ["a"], "1"),
        ("covered_record_ids", ["a", "b"], "2"),
    ],
)
def test_cells_are_short(field, value, worded):
    """Moments to the minute, events to the day, rates to two digits, lists of ids as their length."""
    told = cell(field, value)

    assert told == worded
