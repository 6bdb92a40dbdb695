"""Statements that cannot both be true are linked, shown together with their days, and stay until one gives way."""

import pytest

from langgraph_engram.consolidation import pairing, resolution
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput
from langgraph_engram.llm.base import Failure
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset
from langgraph_engram.prompts.decide_update import DecideUpdate, UpdateVerdict, UpdateVerdicts
from langgraph_engram.rule_model.model import RULES
from langgraph_engram.testing import FakeModel

pytestmark = pytest.mark.usefixtures("model_writes_all")

CAKES = ("The wedding cake of Runa has four tiers.", "The wedding cake of Runa has six tiers.")
CONFLICT = UpdateVerdict(action="CONFLICT", reason="one cake, two sizes")
MERGE = UpdateVerdict(action="MERGE", content=f"Ana: {CAKES[1]}", reason="the same cake")
SUPERSEDE = UpdateVerdict(action="SUPERSEDE", reason="the cake has grown")
ENGRAM = preset("engram")
ANYTHING = ENGRAM.model_copy(update={"retrieve": ENGRAM.retrieve.model_copy(update={"relevance_threshold": 0.0})})
"""Quotes whatever is found."""


class Told:
    """A memory of what Ana says, in which each cluster gets the next of some verdicts and rules answer all else."""

    def __init__(self, folder, verdicts=(), settings=None):
        self.verdicts = list(verdicts)
        self.model = FakeModel([self._answer] * 500)
        self.memory = Memory(folder, self.model, encoder=HashingEncoder(), settings=settings or ANYTHING)

    def _answer(self, question):
        if isinstance(question, DecideUpdate):
            return UpdateVerdicts(verdicts=[self.verdicts.pop(0)]) if self.verdicts else Failure("refused", "no more")
        return RULES[type(question)](question)

    def say(self, text, day, hour=9):
        """Remember a sentence as a session of its own."""
        said = [{"speaker": "Ana", "text": text, "said_at": f"2024-03-{day:02}T{hour:02}:00:00Z"}]
        return self.memory.remember(said, user_id="u", session_id=f"day-{day}-{hour}", close_session=True)

    def records(self):
        """Return the active records by their text."""
        records = self.memory.show("records", "u")
        return {record.content.removeprefix("Ana: "): record for record in records if record.status == "active"}

    def links(self):
        """Return the texts that each active record is linked to."""
        by_id = {record.record_id: record.content.removeprefix("Ana: ") for record in self.memory.show("records", "u")}
        return {text: [by_id[other] for other in record.conflicts_with] for text, record in self.records().items()}

    def found(self, query="wedding cake of Runa tiers"):
        """Return the texts of the passages of records that a search without an end finds."""
        return [passage.text for passage in self.memory.search(query, user_id="u", stop=0).evidence if passage.record]


@pytest.fixture
def told(tmp_path):
    opened = []

    def make(*verdicts, settings=None):
        opened.append(Told(tmp_path / "store", verdicts, settings))
        return opened[-1]

    yield make
    for each in opened:
        each.memory.close()


@pytest.fixture
def contradicted(told):
    """Ana, who has said two things that cannot both be true, and the receipt of the second."""
    ana = told(CONFLICT)
    ana.say(CAKES[0], 1)
    return ana, ana.say(CAKES[1], 2)


def test_both_sides_stay_and_are_shown_with_their_days(contradicted):
    """Nothing is lost: whichever is found, the other stands beside it, and the turns of both are cited."""
    ana, receipt = contradicted
    passages = ana.memory.search("wedding cake of Runa tiers", user_id="u", stop=0).evidence
    lineage = ana.memory.history(ana.records()[CAKES[0]].record_id, user_id="u")

    shown = {passage.text for passage in passages if passage.record}
    assert receipt.decisions == 1
    assert [decision.action for decision in lineage.decisions] == ["CONFLICT"]
    assert ana.links() == {CAKES[0]: [CAKES[1]], CAKES[1]: [CAKES[0]]}
    assert f"1 Mar 2024, Ana: {CAKES[0]}\nBut also: 2 Mar 2024, Ana: {CAKES[1]}" in shown
    assert f"2 Mar 2024, Ana: {CAKES[1]}\nBut also: 1 Mar 2024, Ana: {CAKES[0]}" in shown
    assert all(len(passage.turns) == 2 for passage in passages if passage.record)


def test_undo_takes_the_link_away(contradicted):
    """Both stand as if nobody had decided, and the decision is marked."""
    ana, receipt = contradicted

    undone = ana.memory.undo(receipt.run_id, user_id="u")

    assert (undone.decisions, undone.restored) == (1, 0)
    assert ana.links() == {CAKES[0]: [], CAKES[1]: []}
    assert not [text for text in ana.found() if "But also" in text]
    assert ana.memory.show("decisions", "u")[0].undone_at is not None


def test_a_side_that_is_superseded_is_no_conflict_any_more_and_is_again_after_undo(told):
    """The link stays, and is not shown while one side does not hold."""
    third = "The wedding cake of Runa has seven tiers now."
    ana = told(CONFLICT, UpdateVerdict(action="SUPERSEDE", members=[2, 3], reason="it has grown"))
    ana.say(CAKES[0], 1)
    ana.say(CAKES[1], 2)
    receipt = ana.say(third, 3)
    shown = ana.found()

    ana.memory.undo(receipt.run_id, user_id="u")

    assert not [text for text in shown if "But also" in text]
    assert [text for text in ana.found() if "But also" in text]


def test_to_merge_both_sides_resolves_the_conflict(told):
    """What is made of them contradicts nothing."""
    ana = told(CONFLICT, UpdateVerdict(action="MERGE", content=f"Ana: {CAKES[1]}", reason="one cake after all"))
    ana.say(CAKES[0], 1)
    ana.say(CAKES[1], 2)
    ana.say(CAKES[1], 3)

    assert ana.links() == {CAKES[1]: []}
    assert not [text for text in ana.found() if "But also" in text]


def test_to_repeat_one_side_resolves_nothing(told):
    """What the repeats are merged into contradicts the other side, and the conflict is undone after the merge."""
    merge = UpdateVerdict(action="MERGE", members=[2, 3], content=f"Ana: {CAKES[1]}", reason="said twice")
    ana = told(CONFLICT, merge)
    ana.say(CAKES[0], 1)
    second = ana.say(CAKES[1], 2)
    third = ana.say(CAKES[1], 3)

    assert f"1 Mar 2024, Ana: {CAKES[0]}\nBut also: 3 Mar 2024, Ana: {CAKES[1]}" in ana.found()
    with pytest.raises(InvalidInput, match=third.run_id):
        ana.memory.undo(second.run_id, user_id="u")
    ana.memory.undo(third.run_id, user_id="u")
    ana.memory.undo(second.run_id, user_id="u")
    assert all(links == [] for links in ana.links().values())


@pytest.mark.parametrize("gone", [0, 1])
def test_to_forget_one_side_leaves_the_other_clean(contradicted, gone):
    """No id, no passage and no decision names what was forgotten."""
    ana, _ = contradicted

    receipt = ana.memory.forget(user_id="u", record_id=ana.records()[CAKES[gone]].record_id)

    assert receipt.residue == []
    assert ana.links() == {CAKES[1 - gone]: []}
    assert ana.memory.show("decisions", "u") == []


def test_an_earlier_moment_shows_no_later_contradiction(contradicted):
    """As of the first day nothing was said against it."""
    ana, _ = contradicted

    found = ana.memory.search("wedding cake tiers", user_id="u", as_of="2024-03-01T12:00:00Z").evidence

    assert [passage.text for passage in found if passage.record] == [f"1 Mar 2024, Ana: {CAKES[0]}"]
    assert [passage.record.conflicts_with for passage in found if passage.record] == [[]]


def test_twenty_statements_are_one_conflict(told, monkeypatch):
    """Each is linked to nineteen others at most, and shown with a few."""
    monkeypatch.setattr(resolution, "MAX_CLUSTER", 30)
    monkeypatch.setattr(pairing, "COMMON_FLOOR", 100)
    ana = told(*[CONFLICT] * 30, settings=ANYTHING)
    for day in range(1, 24):
        ana.say(f"The wedding cake of Runa has {day + 3} tiers.", day)

    links = ana.links()
    most = max(text.count("But also") for text in ana.found())

    assert len(links) == 23
    assert {len(others) for others in links.values()} == {19}
    assert all(text not in others for text, others in links.items())
    assert most == 3
