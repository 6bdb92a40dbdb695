"""Without a model: a later value of the same attribute supersedes, repeats merge, and what is not sure stays."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.prompts.decide_update import DecideUpdate
from langgraph_engram.rule_model.consolidation import decide_update
from tests.rule_model.conftest import dated

MAY = datetime(2023, 5, 1, tzinfo=UTC)


def decide(*records):
    """Return (action, members) of each verdict on one cluster."""
    return [(verdict.action, verdict.members) for verdict in decide_update(DecideUpdate((records,))).verdicts]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Lisbon.", "I moved to Porto last week."),
        ("We run Postgres 13.", "We run Postgres 16."),
        ("Our budget is 5000 euros.", "Our budget is now 7000 euros."),
        ("Our database is Postgres 13.", "Our database is Postgres 16."),
        ("The deadline is May 3.", "The deadline is now May 10."),
        ("The deadline is May 3.", "The deadline has moved to 10 May."),
        ("The deadline was moved to May 10.", "The deadline got pushed back to May 20."),
        ("My phone number is 555-0134.", "My new phone number is 555-0199."),
        ("I'm 34.", "I just turned 35!"),
        ("My sister Runa lives in Oslo.", "Runa moved to Bergen."),
        ("I'm single.", "I'm engaged!"),
    ],
)
def test_a_new_value_of_an_attribute_supersedes(older, newer):
    """People have one home, one employer, one number at a time: the newer holds, though no word is shared."""
    assert decide(dated(f"Ana: {older}"), dated(f"Ana: {newer}", 1, memory_type="episodic")) == [("SUPERSEDE", [])]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Lisbon.", "I want to move to Porto."),
        ("We run Postgres 13.", "We run Postgres 16 on staging."),
        ("The team has 5 members.", "The team has 7 desks."),
        ("The deadline is May 3.", "The deadline of the report is May 10."),
        ("The deadline is May 3.", "The deadline of the report has moved to May 10."),
        ("I live in Lisbon.", "I lived in Porto as a kid."),
        ("I live in Lisbon.", "My sister lives in Porto."),
        ("I live in Lisbon.", "I live in Lisbon with Runa now."),
        ("My favourite colour is blue.", "My favourite song is Green."),
        ("I like tea.", "I like coffee."),
    ],
)
def test_what_is_not_sure_stays(older, newer):
    """A wish, a past that is over, another person, the same value, another attribute: nothing is superseded."""
    assert decide(dated(f"Ana: {older}"), dated(f"Ana: {newer}", 1)) == [("KEEP_BOTH", [])]


@pytest.mark.parametrize(
    ("older", "newer"),
    [("I live in Lisbon.", "I live in Porto."), ("My phone number is 555-0134.", "My phone number is 555-0199.")],
)
@pytest.mark.parametrize("known", [True, False])
def test_two_values_of_one_day_are_a_conflict(older, newer, known):
    """Nothing tells which came later; the same where a day is unknown."""
    fields = {} if known else {"mentioned_at": None}

    assert decide(dated(f"Ana: {older}", **fields), dated(f"Ana: {newer}")) == [("CONFLICT", [])]


@pytest.mark.parametrize("earlier", [0, 1])
def test_values_of_two_times_are_no_conflict(earlier):
    """Where Ana moved in 2001 says nothing against where she lives."""
    then = {"event_start": MAY.replace(year=2001), "event_end": MAY.replace(year=2001)}
    fields = [then if position == earlier else {} for position in range(2)]
    homes = ("Ana: I settled in Porto.", "Ana: I live in Lisbon.")
    records = [dated(home, **found) for home, found in zip(homes, fields, strict=True)]

    assert decide(*records) == [("KEEP_BOTH", [])]


@pytest.mark.parametrize(
    ("homes", "verdicts"),
    [
        ("0 Rome./1 Lisbon./1 Lisbon, by the sea./1 Porto.", [("SUPERSEDE", [1, 4]), ("CONFLICT", [3, 4])]),
        ("0 Lisbon by the sea./0 Porto./0 Lisbon by the sea!", [("CONFLICT", [2, 3])]),
    ],
)
def test_each_value_is_named_once(homes, verdicts):
    """What supersedes may contradict another of its day; of two that say the same the last is linked.

    A conflict comes before a repeat: what a merge would take the place of could be linked to nothing.
    """
    said = (home.split(" ", 1) for home in homes.split("/"))

    assert decide(*(dated(f"Ana: I live in {home}", int(day)) for day, home in said)) == verdicts


def test_each_cluster_has_its_verdict():
    """Several clusters in one question are decided on one by one, each under its number."""
    first = (dated("Ana: I live in Lisbon."), dated("Ana: I moved to Porto.", 1))
    second = (dated("Ana: I like tea."), dated("Ana: I like coffee.", 1))
    third = (dated("Ana: I keep bees."), dated("Ana: I keep bees!", 1))

    verdicts = decide_update(DecideUpdate((first, second, third))).verdicts

    assert [verdict.cluster for verdict in verdicts] == [1, 2, 3]
    assert [verdict.action for verdict in verdicts] == ["SUPERSEDE", "KEEP_BOTH", "MERGE"]
    assert [verdict.content for verdict in verdicts] == ["", "", "Ana: I keep bees."]


def test_two_days_are_two_events():
    """The same words of another day are another event."""
    camped = dated("Ana: I went camping.", memory_type="episodic", event_start=MAY, event_end=MAY)
    again = camped.model_copy(update={"record_id": "x", "event_start": MAY.replace(day=7)})

    (verdict,) = decide_update(DecideUpdate(((camped, again),))).verdicts
    assert verdict.action == "KEEP_BOTH"
