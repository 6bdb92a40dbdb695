"""On a real server memory follows a thread that is forked, edited and copied by LangGraph's own calls."""


def test_memory_follows_a_thread_of_the_server(opened):
    """What a fork leaves is recalled no more, an edit takes the place of its text, and a copy shares the past."""
    client, user = opened.client(), "follower"
    context = {"user_id": user}
    thread_id = client.threads.create()["thread_id"]

    def say(text, thread=thread_id, **more):
        said = {"messages": [{"role": "user", "content": text}]} if text else None
        client.runs.wait(thread, "agent", input=said, context=context, **more)

    def recalled(query):
        asked = {"request": {"query": query, "mode": "search", "user_id": user, "stop": 0}}
        found = client.runs.wait(None, "recall", input=asked)["recollection"]["evidence"]
        return " ".join(evidence["text"] for evidence in found)

    say("We sail to Lisbon in May.")
    first = client.threads.get_state(thread_id)
    say("Clara comes along to Lisbon.")
    copy = client.threads.copy(thread_id)["thread_id"]
    say("In the copy we pack the tent.", copy)
    before = recalled("Who comes along to Lisbon?")

    say("Tom comes along to Oslo.", checkpoint=first["checkpoint"])
    forked = recalled("Who comes along?")
    edited = {"role": "user", "content": "We sail to Porto in May.", "id": first["values"]["messages"][0]["id"]}
    client.threads.update_state(thread_id, {"messages": [edited]})
    say("And now?")
    changed = recalled("Where do we sail?")

    say("Nora comes along to Rome.", checkpoint=first["checkpoint"])
    left = recalled("Who comes along?")

    assert "Clara" in before
    assert "Tom" in forked
    assert "Clara" in forked, "the copy goes on from there"
    assert "Porto" in changed
    assert "Lisbon in May" not in changed
    assert "Nora" in left
    assert "Tom" not in left
    assert "Lisbon in May" in left, "the way from before the edit"
