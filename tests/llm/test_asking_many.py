"""Many questions at once: order, bounds, and what is met only once."""

import threading

from langgraph_engram.testing import FakeServer, Reply

GOOD = '{"label": "news", "confidence": 0.5}'


def test_order_is_kept_and_so_many_are_in_flight(chat_of, ask_note, tell):
    """Answers come in the order of the questions, whoever is quicker; never more at once than allowed."""
    script = [Reply("0")] + [Reply(str(place), after_seconds=0.05) for place in range(1, 9)]
    with FakeServer(script) as server:
        asked = chat_of(server, concurrency=3).ask_all([tell(str(place)) for place in range(9)])

    told = {
        request["messages"][0]["content"]: reply.content for request, reply in zip(server.requests, script, strict=True)
    }
    assert [one.answer for one in asked] == [told[str(place)] for place in range(9)]
    assert 2 <= server.most_at_once <= 3


def test_questions_of_one_batch_do_not_hunt_side_by_side(chat_of, ask_note):
    """The first goes alone until a method is known: refusals are met once."""
    with FakeServer(refuses=["json_schema"], otherwise=Reply(GOOD)) as server:
        asked = chat_of(server).ask_all([ask_note(str(place)) for place in range(6)])

    assert all(one.answer for one in asked)
    assert [one.usage.calls for one in asked] == [2, 1, 1, 1, 1, 1]


def test_trouble_that_all_would_meet_is_met_once(chat_of, ask_note):
    """No access: one call, and the same failure for each question."""
    with FakeServer(otherwise=Reply(status=401, error="bad key")) as server:
        asked = chat_of(server).ask_all([ask_note(str(place)) for place in range(5)])

    assert len(server.requests) == 1
    assert {one.failure for one in asked} == {asked[0].failure}
    assert [one.usage.calls for one in asked] == [1, 0, 0, 0, 0]
    assert sum(one.usage.asked for one in asked) == 5


def test_nothing_asked_is_nothing_answered(chat_of):
    """No questions cost nothing."""
    with FakeServer() as server:
        asked = chat_of(server).ask_all([])

    assert asked == []
    assert server.requests == []


def test_threads_may_share_a_model(chat_of, ask_note):
    """Questions asked from many threads at once each get an answer, and the gate holds for all of them."""
    answers = []
    with FakeServer(refuses=["json_schema"], otherwise=Reply(GOOD, after_seconds=0.01)) as server:
        model = chat_of(server, concurrency=2)
        threads = [threading.Thread(target=lambda: answers.append(model.ask(ask_note()).answer)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len([answer for answer in answers if answer]) == 8
    assert server.most_at_once <= 2
