"""Without a language model, what shares no word with the query does not matter; what nothing mentions is missing."""

from langgraph_engram.prompts.reflect import Reflect
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.rule_model.recall import reflect, select_records
from tests.rule_model.conftest import make_passages

QUERY = "Where does Ana's sister teach music?"


def test_memories_that_matter_are_chosen(intent):
    """What mentions something the query names, the best first; nothing else."""
    found = make_passages("Ben: I keep bees.", "Ana: My sister teaches music.", "Ana: It rained.")

    assert select_records(SelectRecords(QUERY, intent(QUERY, speakers=["Ana"]), found)).numbers == [2]
    assert select_records(SelectRecords(QUERY, intent(QUERY), ())).numbers == []


def test_a_covered_answer_is_complete(intent):
    """The passages it cites mention what the query names; a home counts as where somebody moved."""
    found = make_passages("Ana: It rained.", "Ana: My sister teaches music in Oslo.")

    cites_it = reflect(Reflect(QUERY, intent(QUERY, speakers=["Ana"]), "In Oslo [2].", found, (QUERY,)))
    cites_rain = reflect(Reflect(QUERY, intent(QUERY, speakers=["Ana"]), "Rain [1].", found, (QUERY,)))

    assert (cites_it.complete, cites_it.missing) == (True, "")
    assert not cites_rain.complete


def test_what_is_missing_is_asked_for_once(intent):
    """The words that nothing mentions are looked for; not a second time."""
    asked = intent(QUERY, speakers=["Ana"])
    found = make_passages("Ana: My sister sings.")

    first = reflect(Reflect(QUERY, asked, UNKNOWN, found, (QUERY,)))
    again = reflect(Reflect(QUERY, asked, UNKNOWN, found, (QUERY, first.next_query)))

    assert (first.complete, first.next_query) == (False, "Ana teach music")
    assert (again.missing, again.next_query) == (first.missing, "")
