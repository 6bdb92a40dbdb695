"""Who ever writes to a session at once, in one process: every turn is kept once, in one place, in one event."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_engram.consolidation.merging import MAX_ATTEMPTS
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.memory import Memory
from langgraph_engram.presets import preset
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.rule_model.model import RULES, RuleModel
from langgraph_engram.schema import Scope
from langgraph_engram.testing import FakeModel

pytestmark = pytest.mark.usefixtures("model_writes_all")

ANA = Scope(user_id="ana")


def day_of(text):
    """Return when a home is mentioned, each on a day of its own; None for anything else."""
    days = {"Lisbon": 1, "Porto": 2, "Faro": 3}
    return next((f"2024-03-0{day}T09:00:00Z" for home, day in days.items() if home in text), None)


def request(run, *texts, **fields):
    said = [{"speaker": "Ana", "text": text, "said_at": day_of(text)} for text in texts]
    return {"request": {"user_id": "ana", "session_id": "s1", "run_id": run, "messages": said, **fields}}


def retry_of(*turn_ids):
    return {"request": {"user_id": "ana", "session_id": "s1", "retry_turn_ids": [*turn_ids]}}


def check(index, texts):
    """Require that each text is one turn, each turn in one event, and each record in an event that is there."""
    turns = index.session_turns("s1")
    events = index.session_events("s1")
    assert Counter(turn.text for turn in turns) == Counter(texts)
    assert [turn.seq for turn in turns] == list(range(len(texts)))
    assert sorted(turn_id for event in events for turn_id in event.turn_ids) == sorted(turn.turn_id for turn in turns)
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.status for event in events[:-1]] == ["closed"] * (len(events) - 1)
    assert {record.event_id for record in index.records.items} <= {event.event_id for event in events}
    assert {turn for record in index.records.items for turn in record.source_turn_ids} <= {
        turn.turn_id for turn in turns
    }


def test_many_writers_of_one_session_lose_nothing(tmp_path):
    """Two memories on one folder and the bare graph, all at once, into one session."""
    with (
        Memory(store=tmp_path / "s", encoder="hashing") as one,
        Memory(store=tmp_path / "s", encoder="hashing") as other,
    ):
        writers = {
            "one": lambda text: one.remember([{"speaker": "Ana", "text": text}], user_id="ana", session_id="s1"),
            "other": lambda text: other.remember([{"speaker": "Ana", "text": text}], user_id="ana", session_id="s1"),
            "bare": lambda text: one.write_graph.invoke(request("", text)),
            "bare too": lambda text: other.write_graph.invoke(request("", text)),
        }
        texts = {name: [f"Place {place} of {name} has a garden." for place in range(5)] for name in writers}

        with ThreadPoolExecutor(len(writers)) as pool:
            done = [pool.submit(list, map(write, texts[name])) for name, write in writers.items()]
            for each in done:
                each.result(120)

        check(one.store.index(ANA), [text for each in texts.values() for text in each])
        one.retry(user_id="ana")  # of look-alikes that kept coming while they were decided on
        assert one.store.pending_tasks(ANA) == []


@pytest.fixture
def graph(store):
    return build_write_graph(store, RuleModel(), RuleModel(), preset("engram"), InMemorySaver())


def thread(name):
    return {"configurable": {"thread_id": name}}


@pytest.mark.parametrize("node", ["receive", "segment", "extract", "consolidate", "filter_candidates"])
@pytest.mark.parametrize("begun", [[], ["I keep bees in the garden."]])
def test_a_run_that_was_overtaken_keeps_both_runs_turns(store, graph, node, begun):
    """A run stops after a step, another runs whole, the first goes on: both have written what they brought."""
    if begun:
        graph.invoke(request("begun", *begun), thread("begun"))
    graph.invoke(request("slow", "The bees gave honey.", "By the way, I ski."), thread("slow"), interrupt_after=[node])
    graph.invoke(request("quick", "The bees in the garden hum."), thread("quick"))

    receipt = graph.invoke(None, thread("slow"))["receipt"]

    assert receipt.stored_turns == 2
    texts = [*begun, "The bees gave honey.", "By the way, I ski.", "The bees in the garden hum."]
    check(store.index(ANA), texts)
    assert store.pending_tasks(ANA) == []


HOMES = ("I live in Lisbon.", "I live in Porto.", "I live in Faro.")
BEES = ("I keep four bees' hives in the garden.", "I keep four bees' hives in the garden!")


def overtaken(store, graph, node, first, slow, quick, looks=1):
    """Stop a run after a step, let another run whole, and let the first go on; gives the receipt and the turn."""
    graph.invoke(request("first", first), thread("first"))
    graph.invoke(request("slow", slow), thread("slow"), interrupt_after=[node])
    graph.update_state(thread("slow"), {"attempts": looks})
    turn_id = store.index(ANA).session_turns("s1")[-1].turn_id
    graph.invoke(request("quick", quick), thread("quick"))
    return graph.invoke(None, thread("slow"))["receipt"], turn_id


def statuses(store):
    return sorted((record.content, record.status) for record in store.index(ANA).records.items)


@pytest.mark.parametrize("told", [HOMES, (*BEES, f"{BEES[0]}..")])
def test_a_decision_about_a_record_that_another_run_changed_is_made_again(store, graph, told):
    """The run looks again before it writes: nothing is pending, and one record is left."""
    receipt, _ = overtaken(store, graph, "consolidate", *told)

    assert (receipt.pending, receipt.decisions) == (0, 1)
    assert [record.status for record in store.index(ANA).records.items].count("active") == 1
    assert store.pending_tasks(ANA) == []


def test_a_decision_that_was_overtaken_too_often_is_pending(store, graph):
    """Lisbon, then Porto and Faro at once: the later decision is dropped and pending, and a retry leaves one home."""
    receipt, turn_id = overtaken(store, graph, "consolidate", *HOMES, looks=MAX_ATTEMPTS)
    before, (pending,) = statuses(store), store.pending_tasks(ANA)
    (decision,) = store.decisions(ANA)

    graph.invoke(retry_of(turn_id), thread("retry"))

    assert [status for _, status in before] == ["active", "superseded", "active"]
    assert (pending.run_id, pending.step, pending.turn_ids) == ("slow", "consolidate", [turn_id])
    assert (receipt.decisions, receipt.records, receipt.pending, decision.run_id) == (0, 1, 1, "quick")
    assert [content for content, status in statuses(store) if status == "active"] == ["Ana: I live in Faro."]
    assert store.pending_tasks(ANA) == []


def test_a_merge_with_a_record_that_another_run_merged_makes_nothing(store, graph):
    """What it would have made is not written; its own record stands, pending, until a retry merges it too."""
    receipt, turn_id = overtaken(store, graph, "consolidate", *BEES, f"{BEES[0]}..", looks=MAX_ATTEMPTS)
    before = store.index(ANA).records.items

    graph.invoke(retry_of(turn_id), thread("retry"))

    assert sorted(record.status for record in before) == ["active", "active", "merged", "merged"]
    assert (receipt.decisions, receipt.pending) == (0, 1)
    assert [record.status for record in store.index(ANA).records.items].count("active") == 1
    assert store.pending_tasks(ANA) == []


@pytest.mark.parametrize("node", ["filter_candidates", "persist"])
@pytest.mark.parametrize("known", [[], [HOMES[2]]])
def test_look_alikes_that_two_runs_brought_at_once_are_decided_on(store, graph, node, known):
    """Neither run saw the other's home: the later one looks again, and one home is left."""
    for home in known:
        graph.invoke(request("known", home), thread("known"))
    graph.invoke(request("slow", HOMES[1]), thread("slow"), interrupt_before=[node])
    graph.invoke(request("quick", HOMES[0]), thread("quick"))

    receipt = graph.invoke(None, thread("slow"))["receipt"]

    assert (receipt.pending, receipt.decisions, receipt.records) == (0, 1, 1)
    assert [status for _, status in statuses(store)].count("active") == 1
    assert store.pending_tasks(ANA) == []


def test_a_run_that_is_overtaken_again_and_again_ends(store, graph):
    """It looks so often; what it did not see then is pending, and a retry leaves one home."""
    graph.invoke(request("slow", HOMES[0]), thread("slow"), interrupt_before=["persist"])
    (turn,) = store.index(ANA).session_turns("s1")
    for look in range(MAX_ATTEMPTS):
        graph.invoke(request(f"quick {look}", f"I live in Faro{'!' * look}."), thread(f"quick {look}"))
        graph.invoke(None, thread("slow"), interrupt_before=["persist"])
    receipt = graph.get_state(thread("slow")).values["receipt"]
    left = [(task.step, task.turn_ids) for task in store.pending_tasks(ANA)]

    graph.invoke(retry_of(turn.turn_id), thread("retry"))

    assert receipt.pending == 1
    assert left == [("consolidate", [turn.turn_id])]
    assert [status for _, status in statuses(store)].count("active") == 1
    assert store.pending_tasks(ANA) == []


TIMES = count(1)


def reworded(question):
    """Answer as the rules do, records in words that are new each time."""
    answer = RULES[type(question)](question)
    if not isinstance(question, ExtractRecords):
        return answer
    told = [
        record.model_copy(update={"content": f"{record.content} {'Yes' * next(TIMES)}"}) for record in answer.records
    ]
    return answer.model_copy(update={"records": told})


def test_a_run_that_was_taken_for_dead_doubles_nothing(store):
    """A retry does the turns of a run that stands still; when that goes on after all, it finds them done."""
    model = FakeModel([reworded] * 20)
    graph = build_write_graph(store, model, model, preset("engram"), InMemorySaver())
    graph.invoke(request("slow", "I keep bees."), thread("slow"), interrupt_after=["extract"])
    turns = [turn.turn_id for turn in store.index(ANA).turns.items]
    again = retry_of(*turns)
    graph.invoke(again, thread("retry"), interrupt_after=["extract"])
    graph.invoke(again, thread("retry too"))
    kept = store.index(ANA).records.items

    graph.invoke(None, thread("retry"))
    graph.invoke(None, thread("slow"))

    assert len(kept) == 1
    assert store.index(ANA).records.items == kept
    assert store.pending_tasks(ANA) == []


def test_a_run_that_stops_for_good_holds_nobody_up(store, graph):
    """An interrupted run, or one that fails, leaves no lock behind."""
    graph.invoke(request("stopped", "I ski."), thread("stopped"), interrupt_after=["persist"])
    broken = request("broken", "I swim.", retry_turn_ids=7)
    with pytest.raises(ValueError, match="retry_turn_ids"):
        graph.invoke(broken, thread("broken"))

    graph.invoke(request("next", "I run."), thread("next"))

    check(store.index(ANA), ["I ski.", "I run."])


def test_events_stand_in_the_order_of_their_turns_whoever_commits_first(store, graph):
    """What was said first comes first, though its run was overtaken."""
    graph.invoke(request("slow", "I keep bees."), thread("slow"), interrupt_after=["extract"])
    graph.invoke(request("quick", "By the way, I ski."), thread("quick"))

    graph.invoke(None, thread("slow"))

    index = store.index(ANA)
    told = [index.turns.get(event.turn_ids[0]).text for event in index.session_events("s1")]
    assert told == ["I keep bees.", "By the way, I ski."]
    check(index, told)


@pytest.mark.parametrize("said", ["The bees hum.", "Let me ask something else. What about the tax?"])
@pytest.mark.parametrize("last", [[], ["I ski."]])
def test_a_late_run_does_not_open_a_closed_session(store, graph, said, last):
    """A run was overtaken by the end of the session: its event, extended or its own, is as closed as the session."""
    graph.invoke(request("begun", "I keep bees."), thread("begun"))
    graph.invoke(request("slow", said), thread("slow"), interrupt_after=["segment"])
    graph.invoke(request("quick", *last, close_session=True), thread("quick"))

    graph.invoke(None, thread("slow"))

    events = store.index(ANA).session_events("s1")
    assert sum(len(event.turn_ids) for event in events) == 2 + len(last)
    assert {event.status for event in events} == {"closed"}


def test_a_new_call_goes_on_with_a_closed_session(store, graph):
    """What was closed stays closed, and what is said afterwards opens an event of its own."""
    graph.invoke(request("begun", "I keep bees.", close_session=True), thread("begun"))

    graph.invoke(request("more", "The bees hum."), thread("more"))

    assert [event.status for event in store.index(ANA).session_events("s1")] == ["closed", "open"]


def test_a_retry_puts_earlier_turns_before_those_of_the_open_event(store, graph):
    """A run died, the next one opened an event; what is taken up again stands in it where it was said."""
    graph.invoke(request("dead", "I keep bees."), thread("dead"), interrupt_after=["receive"])
    first = store.index(ANA).session_turns("s1")[0]
    graph.invoke(request("next", "The bees hum."), thread("next"))

    graph.invoke(retry_of(first.turn_id), thread("again"))

    index = store.index(ANA)
    (event,) = index.session_events("s1")
    assert event.turn_ids == [turn.turn_id for turn in index.session_turns("s1")]
    assert event.started_at == first.said_at
