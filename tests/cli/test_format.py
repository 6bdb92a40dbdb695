"""Receipts and answers are formatted truthfully, and steer no terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.cli.output import format_receipt, one_line, print_recollection
from langgraph_engram.results import Receipt, Recollection
from langgraph_engram.schema import Evidence


def test_known_and_new_turns_are_both_counted():
    """A longer version of a known file says how much of it was known."""
    line = format_receipt(Receipt(run_id="r", stored_turns=1, known_turns=7, events=1, records=1))

    assert line == "1 turn stored, 7 known before, 1 event, 1 record, 0 decisions, 0 syntheses"


def test_a_line_of_what_is_missing_fits_on_a_screen(capsys):
    """Nobody reads a word of twenty thousand letters."""
    print_recollection(Recollection(query="q", answer="?", verdict="absent", missing=["x" * 20_000, "boats"]))

    first, second = (line for line in capsys.readouterr().out.splitlines() if line.startswith("missing: "))
    assert first == f"missing: {'x' * 200}"
    assert second == "missing: boats"


@pytest.mark.parametrize(
    ("answer", "verdict", "number", "cited"),
    [
        ("At sea [2].", "sufficient", 2, True),
        ("[1, 12]", "partial", 12, True),
        ("[12]", "partial", 1, False),
        ("1", "partial", 1, True),
        ("I don't know.", "absent", 1, False),
    ],
)
def test_a_passage_is_cited_by_its_number_in_brackets(answer, verdict, number, cited, capsys):
    """Alone or among others; an answer that cites nothing is shown with the first passages, but what is absent."""
    evidence = [Evidence(evidence_id=str(index), text=f"passage {index}.") for index in range(1, 13)]

    print_recollection(Recollection(query="?", answer=answer, verdict=verdict, evidence=evidence))

    assert (f"passage {number}." in capsys.readouterr().out) == cited


@given(st.text())
def test_no_text_steers_a_terminal(text):
    """Whatever was said, it is shown on one line without a control character."""
    shown = one_line(text)

    assert all(character >= " " and not "\x7f" <= character <= "\x9f" for character in shown)
