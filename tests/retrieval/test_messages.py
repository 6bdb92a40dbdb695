"""What bears on a request, a plan or a remark is shown, though they share no word; on an idle one nothing is."""

from shutil import copytree
from threading import Event

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.memory import Memory
from langgraph_engram.prompts.select_lines import LineSelection
from langgraph_engram.results import count_tokens
from langgraph_engram.settings import DeepSettings, Settings
from langgraph_engram.testing import FakeModel

FACTS = {
    "peanuts": "It's never easy with us: I'm allergic to peanuts.",
    "python": "By the way, our services are on Python 3.9.",
    "docstrings": "I can't stand long docstrings.",
    "retry": "Never use autoretry_for, it hid two outages from us.",
    "kubernetes": "We don't use Kubernetes, everything runs on two plain boxes.",
    "postgres": "We run Postgres 13 in production.",
    "mornings": "I bring Ida to school, so I am never free before nine.",
}
REQUESTS = {
    "peanuts": "Plan the team lunch for Friday",
    "python": "Write me a function that merges two dicts, modern syntax please",
    "docstrings": "Write me a helper for slugs, with a docstring",
    "retry": "Write the Celery task that sends the invoices and tries again when the server is down",
    "kubernetes": "How should we deploy the new service?",
    "postgres": "Write the query that inserts the totals or updates them where they are there",
    "mornings": "Find a slot for the call with Tokyo tomorrow",
}
IDLE = [
    "thanks, that's all",
    "regex for ISO dates like 2024-03-17, date only",
    "Translate into Portuguese: the ferry was late",
    "how do hovercraft float",
    "which countries does the Danube flow through",
]


def remember_all(memory, user="ana"):
    """Say each fact in a conversation of its own, among requests."""
    for number, said in enumerate(FACTS.values()):
        talk = [{"role": "user", "content": f"{said} Can you fix the typo in line {number}?"}]
        memory.remember([*talk, {"role": "assistant", "content": "Done."}], user_id=user, session_id=f"s{number}")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a memory with MiniLM that was told the facts."""
    folder = tmp_path_factory.mktemp("written") / "store"
    with Memory(folder, "rules") as memory:
        remember_all(memory)
    return folder


@pytest.fixture(scope="module")
def told(written):
    """A memory that was told the facts."""
    with Memory(copytree(written, written.parent / "told"), "rules") as memory:
        yield memory


@pytest.fixture
def selecting(written, tmp_path):
    """A memory that was told the facts, and whose selector gives these answers."""
    opened = []

    def open_memory(*answers, **deep):
        settings, folder = Settings(deep=DeepSettings(**deep)), copytree(written, tmp_path / str(len(opened)))
        memory = Memory(folder, "rules", selector=FakeModel(answers), settings=settings)
        opened.append(memory)
        return memory

    yield open_memory
    for memory in opened:
        memory.close()


def number_of(question, words):
    """Return the number of the offered line that holds these words."""
    line = next(line for line in (*question.fixed, *question.near) if words in line)
    return int(line.split(":", 1)[0])


@pytest.mark.parametrize("name", FACTS)
def test_the_fact_that_a_request_needs_is_shown(told, name):
    """All that is known is small: what is needed is there, in few tokens, and the verdict says that something is."""
    found = told.search(REQUESTS[name], user_id="ana")

    assert any(FACTS[name][:24] in passage.text for passage in found.evidence)
    assert (found.sort, found.verdict) == ("message", "partial")
    assert sum(count_tokens(passage.text) for passage in found.evidence) <= 300


@pytest.mark.parametrize("message", IDLE)
def test_nothing_is_shown_for_an_idle_message(told, message):
    """Its verdict is absent, and a note tells it from a search that found nothing."""
    found = told.search(message, user_id="ana")

    assert (found.sort, found.evidence, found.verdict) == ("idle", [], "absent")
    assert found.notes == ["the message stands on its own: nothing is shown"]


def test_a_question_is_asked_of_the_past(told):
    """It is answered from the words that were said, requests not among them."""
    found = told.search("Which version of Postgres do we run?", user_id="ana")

    assert found.sort == "question"
    assert "Postgres 13" in found.evidence[0].text


@pytest.mark.parametrize("query", ["Where is the spare key now?", "What time is the stand-up?", "who fixed the gate"])
def test_what_asks_is_not_idle_for_want_of_a_name(told, query):
    """Only a message that is surely one on which nothing bears is told so."""
    assert told.search(query, user_id="ana").sort == "question"


@pytest.mark.parametrize(
    ("query", "sort"), [("Who sells cider?", "question"), ("By whom is cider sold?", "question"), (IDLE[3], "idle")]
)
def test_what_could_be_asked_of_the_world_is_a_question_where_memory_answers(query, sort):
    """Nobody is named, nothing is the user's own: what was found tells."""
    with Memory("memory:", "rules") as memory:
        talk = [{"role": "user", "content": "Old Ben at the corner sells cider from his barn."}]
        memory.remember([*talk, {"role": "assistant", "content": "Good to know."}], user_id="ana")

        found = memory.search(query, user_id="ana")

    assert found.sort == sort
    assert ["cider" in passage.text for passage in found.evidence] == [True] * (sort == "question")


def test_a_list_that_is_to_fill_its_budget_does_so_for_an_idle_message_too(told):
    assert told.search(IDLE[0], user_id="ana", stop=0).evidence


def test_what_friends_say_of_themselves_asks_nothing():
    """In a talk that holds no assistant, only what asks is a question."""
    with Memory("memory:", "rules") as memory:
        talk = [{"role": "user", "name": name, "content": "We have not spoken for a year."} for name in ("Ana", "Ben")]
        memory.remember(talk, user_id="ana")

        said = "I can't believe how much I dread Sundays lately."
        asked = "did i tell you about my brother?"

        assert [memory.search(query, user_id="ana").sort for query in (said, asked)] == ["message", "question"]


def test_a_follow_up_is_read_with_its_thread(told):
    """Alone it has no subject."""
    thread = ["Plan the team lunch for Thursday", "Here is a menu: satay, noodles, mango."]

    found = told.search("and for Friday?", user_id="ana", thread=thread)

    assert any("peanuts" in passage.text for passage in found.evidence)


@pytest.mark.parametrize(
    "message",
    [
        "word " * 20_000,
        "def f(x):\n    return {k: v for k, v in x.items()}\n" * 50,
        "🙂",
        "¿Qué puedo cocinar el viernes?",
    ],
    ids=["100 kB", "code", "emoji", "Spanish"],
)
def test_any_message_is_bounded(told, message):
    """Whatever is sent, little is shown, and nothing fails."""
    found = told.search(message, user_id="ana", thread=["ok"] * 1000)

    assert sum(count_tokens(passage.text) for passage in found.evidence) <= 2000


def test_a_model_selects(selecting):
    """It is offered plain lines, and what it names is all that is shown, with what the call cost."""
    memory = selecting(lambda asked: LineSelection(numbers=[number_of(asked, "peanuts")]))

    found = memory.search(REQUESTS["peanuts"], user_id="ana", select=True, thread=["Morning!"])

    [question] = memory.selector.asked
    assert [FACTS["peanuts"] in passage.text for passage in found.evidence] == [True]
    assert (found.verdict, found.usage.calls, question.thread) == ("partial", 1, ("Morning!",))
    assert found.selection.named == [found.evidence[0].evidence_id]
    assert set(found.selection.named) < set(found.selection.offered)


@pytest.mark.parametrize("numbers", [[0, 99, -1], []])
def test_what_was_not_offered_is_not_shown(selecting, numbers):
    """Nothing is a valid answer."""
    found = selecting(LineSelection(numbers=numbers)).search(REQUESTS["peanuts"], user_id="ana", select=True)

    assert (found.evidence, found.verdict, found.notes) == ([], "absent", [])


def test_a_selection_of_everything_is_cut(selecting):
    """A model that names all lines gets the first few of them, each once."""
    found = selecting(LineSelection(numbers=[1, 1, *range(1, 8)])).search("Plan lunch", user_id="ana", select=True)

    assert len(found.evidence) == len({passage.evidence_id for passage in found.evidence}) == 5


@pytest.mark.parametrize("is_late", [False, True])
def test_the_search_stands_in_for_a_selection_that_fails(selecting, is_late):
    """It fails, or takes too long; the note says so, and nothing is lost."""
    release = Event()
    answer = (lambda _: release.wait(30) and LineSelection()) if is_late else Failure("unreachable", "no server")
    memory = selecting(answer, select_seconds=0.2)

    found = memory.search(REQUESTS["peanuts"], user_id="ana", select=True)
    release.set()

    assert any("peanuts" in passage.text for passage in found.evidence)
    [note] = found.notes
    assert note.startswith("no model selected what bears on the message")


@pytest.mark.parametrize("query", ["thanks, that's all", "Which version of Postgres do we run?"])
def test_no_model_is_asked_where_nothing_is_to_select(selecting, query):
    """A courtesy needs nothing, and a question is searched for."""
    memory = selecting()

    assert memory.search(query, user_id="ana", select=True).usage.calls == 0


def test_the_fixed_part_stays_from_message_to_message():
    """It changes with every fiftieth record alone, so that a provider's prompt cache holds it."""
    with Memory("memory:", "rules", selector=FakeModel([LineSelection()] * 3)) as memory:
        for number in range(60):
            memory.remember(
                {"role": "user", "content": f"My locker at pool {number} is {number + 100}."}, user_id="ana"
            )
        memory.search("Plan the team lunch", user_id="ana", select=True)
        memory.remember({"role": "user", "content": "I moved to Porto last week."}, user_id="ana")
        memory.search("Find me a swimming course", user_id="ana", select=True)

        first, second = memory.selector.asked
        assert first.fixed == second.fixed
        assert len(first.fixed) >= 40
        assert any("Porto" in line for line in second.near)


def test_thanks_are_no_line():
    """Whoever they are aimed at: they bear on nothing, and what was said beside them may."""
    said = ["Thanks, Amit!", "I'm allergic to peanuts, Amit."]
    with Memory("memory:", "rules") as memory:
        memory.remember([{"role": "user", "content": text} for text in said], user_id="ana", close_session=True)

        found = memory.search("Plan the team lunch for Friday", user_id="ana", stop=0).evidence

    assert ["peanuts" in passage.text for passage in found] == [True]
