"""What has changed is told as it is now, what was so before when it is asked for; what was said besides still holds."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.embeddings.hashing import HashingEncoder
from langgraph_engram.memory import Memory

HOMES = ("I live in Rome with my dog Rex.", "I moved to Oslo with my cat Miso.", "I live in Kyiv now.")
BOSSES = ("My boss is Ruth Weaver, she is strict.", "My boss is Omar Lind now.")
NUMBERS = ("My phone number is 111 222 333.", "My phone number is 444 555 666.")
MEALS = ("I eat meat and fish every day.", "I no longer eat meat and fish.")


@pytest.fixture
def told():
    """Remember what Ana says, a month apart, and give what is recalled."""

    def recall(said, query):
        with Memory("memory:", "rules", encoder=HashingEncoder()) as memory:
            for month, text in enumerate(said, start=1):
                message = {"speaker": "Ana", "text": text, "said_at": datetime(2024, month, 1, tzinfo=UTC)}
                memory.remember([message], user_id="u", session_id=f"s{month}")
            return memory.recall(query, user_id="u")

    return recall


@pytest.mark.parametrize(
    ("said", "query", "answer"),
    [
        (HOMES, "Where does Ana live?", "Kyiv"),
        (HOMES, "What is the name of Ana's dog?", "Rex"),
        (HOMES[1:], "Where did Ana move?", "Kyiv"),
        (BOSSES, "Who is Ana's boss?", "Omar Lind"),
        (BOSSES, "Who is strict?", "Ruth Weaver"),
    ],
)
def test_what_was_said_besides_still_holds(told, said, query, answer):
    """A sentence is superseded for one thing that it says, and not for the others."""
    found = told(said, query)

    assert found.answer.startswith(answer)
    assert found.verdict == "sufficient"


def test_what_was_so_before_is_where_somebody_moved_to(told):
    """Not where they came from: that was before still."""
    said = ("I moved from Bergen to Oslo last week.", "I live in Kyiv now.")

    assert told(said, "Where did Ana live before Kyiv?").answer == "Oslo [2]"


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Where did Ana live before Kyiv?", "Oslo"),
        ("Where did Ana live before Oslo?", "Rome"),
        ("Where did Ana live before she moved to Kyiv?", "Oslo"),
        ("Where did Ana live before Rome?", "I don't know."),
    ],
)
def test_what_was_so_before_something_named_is_the_state_that_it_replaced(told, query, answer):
    """Not the one that holds now, and nothing where no memory says."""
    assert told(HOMES, query).answer.partition(" [")[0] == answer


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("What does Ana drink?", "Tea"),
        ("Which city did Ana visit?", "Rome"),
        ("Has Ana been to Rome?", "Yes"),
        ("Has Ana been to Paris?", "No"),
        ("What did Ana stop drinking?", "Coffee"),
    ],
)
def test_what_is_denied_answers_no_query_for_what_is_so(told, query, answer):
    """A sentence that denies one thing and affirms another is read for what it affirms."""
    said = (
        "I don't drink coffee anymore, I drink tea all day.",
        "I never went to Paris, but I visited Rome in August.",
    )
    assert told(said, query).answer.startswith(answer)


@pytest.mark.parametrize(
    ("said", "query", "answer"),
    [
        (HOMES, "Where did Ana live before?", "Oslo (no longer so)"),
        (HOMES, "Where did Ana live previously?", "Oslo (no longer so)"),
        (BOSSES, "Who was Ana's former boss?", "Ruth Weaver (no longer so)"),
        (BOSSES, "Who was Ana's earlier boss?", "Ruth Weaver (no longer so)"),
        (NUMBERS, "What was Ana's previous phone number?", "111 222 333 (no longer so)"),
    ],
)
def test_what_was_so_before_is_told_with_what_is_so_now(told, said, query, answer):
    """The last that was so before, and then the present."""
    found = told(said, query)

    assert found.answer.startswith(answer)
    assert said[-1].split()[-1].strip(".") in found.answer or "Omar Lind" in found.answer or "Kyiv" in found.answer
    assert found.verdict == "sufficient"


@pytest.mark.parametrize(
    ("said", "query", "answer"),
    [
        (HOMES[1:], "Does Ana still live in Oslo?", "No longer: Kyiv"),
        (BOSSES, "Is Ruth Weaver Ana's boss?", "No longer: Omar Lind"),
        (NUMBERS, "Is Ana's phone number 111 222 333?", "No longer: 444 555 666"),
        (MEALS, "Does Ana eat meat every day?", "No longer"),
    ],
)
def test_what_has_changed_is_not_so(told, said, query, answer):
    """Who asks whether it is still so is told that it is not."""
    assert told(said, query).answer.startswith(answer)


def test_a_query_for_the_past_of_which_nothing_is_told_is_not_sufficient(told):
    """What holds now is no answer to what was so before."""
    assert told(["I live in Porto."], "Where did Ana live before?").verdict != "sufficient"


@pytest.mark.parametrize(
    "query", ["Is Ana's boss strict?", "Has Ana's phone number changed?", "Did Ana use to have a cat?"]
)
def test_yes_and_no_do_not_change(told, query):
    """Nothing is no longer so that is only asked about by yes or no."""
    assert "no longer" not in told([*HOMES, *NUMBERS, *BOSSES], query).answer.casefold()
