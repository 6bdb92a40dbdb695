"""Use a served memory with LangGraph's SDK: remember, watch a recall as it happens, talk with the agent.

pip install "langgraph-engram[server,offline]"
ENGRAM_TOKENS='{"s3cret": "ana"}' engram serve
python examples/sdk_client.py http://127.0.0.1:2024 s3cret
"""

import sys

from langgraph_sdk import get_sync_client

MESSAGES = [
    {"role": "user", "speaker": "Ana", "text": "We camped at Lake Bled last weekend."},
    {"role": "assistant", "speaker": "Assistant", "text": "Lovely! Did Rex come along?"},
    {"role": "user", "speaker": "Ana", "text": "No, my sister looked after the dog."},
]


def remember(client, messages, session):
    """Remember messages, and return the receipt. The token says whose memory it is."""
    request = {"session_id": session, "messages": messages, "close_session": True}
    return client.runs.wait(None, "remember", input={"request": request})["receipt"]


def recall(client, question):
    """Answer a question on a new thread, and return the names of the steps and the recollection."""
    thread = client.threads.create()["thread_id"]
    stream = client.runs.stream(thread, "recall", input={"request": {"query": question}}, stream_mode="updates")
    steps = [step for part in stream if part.event == "updates" for step in part.data]
    return steps, client.threads.get_state(thread)["values"]["recollection"]


def chat(client, text):
    """Send a message to the agent on a new thread, and return its reply: all it knows is from memory."""
    thread = client.threads.create()["thread_id"]
    inputs = {"messages": [{"role": "user", "content": text}]}
    return client.runs.wait(thread, "agent", input=inputs)["messages"][-1]["content"]


def main(url="http://127.0.0.1:2024", token="s3cret"):
    """Do all three."""
    with get_sync_client(url=url, headers={"Authorization": f"Bearer {token}"}) as client:
        print(remember(client, MESSAGES, "june")["stored_turns"], "turns stored")
        steps, recollection = recall(client, "Where did Ana camp?")
        print(" -> ".join(steps))
        print(recollection["verdict"], "-", recollection["answer"])
        print(chat(client, "Who looked after my dog?"))


if __name__ == "__main__":
    main(*sys.argv[1:])
