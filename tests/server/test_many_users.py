"""Ten users talk with two agents on twenty threads at once, and no answer ever holds another user's secret."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.server.conftest import USERS, asked

pytestmark = pytest.mark.timeout(600)  # servers start, and machines that run tests are busy

SECRETS = dict(
    zip(
        USERS,
        ["Amaranth", "Bergamot", "Cinnabar", "Damascene", "Eglantine", "Feldspar", "Gamboge", "Heliotrope", "Isinglass",
         "Jacaranda"],
        strict=True,
    )
)  # fmt: skip
AGENTS = ("first", "second")


def chat(text):
    return {"messages": [{"role": "user", "content": text}]}


def at_once(work, jobs):
    with ThreadPoolExecutor(20) as pool:
        return list(pool.map(lambda job: work(*job), jobs))


def held(answer, user):
    """Return the secrets in an answer: the user's own, and others'."""
    text = json.dumps(answer)
    found = {name for name, secret in SECRETS.items() if secret in text}
    return user in found, found - {user}


def test_no_answer_holds_another_s_secret(guarded):
    """Each agent has told only what its own user told it."""
    clients = {user: guarded.client(user) for user in USERS}
    saved = {
        (user, agent): clients[user].assistants.create("agent", context={"agent_id": agent})["assistant_id"]
        for user in USERS
        for agent in AGENTS
    }

    def tell(user, agent):
        client = clients[user]
        thread = client.threads.create()["thread_id"]
        return client.runs.wait(thread, saved[user, agent], input=chat(f"My secret word is {SECRETS[user]}."))

    def ask(user, agent):
        client = clients[user]
        thread = client.threads.create()["thread_id"]
        whose = {"agent_id": agent, "user_id": USERS[(USERS.index(user) + 1) % len(USERS)]}
        output = client.runs.wait(thread, saved[user, agent], input=chat("What is my secret word?"))
        read = client.runs.wait(None, "recall", input=asked("What is the secret word?", **whose))
        return output, read

    jobs = [(user, agent) for user in USERS for agent in AGENTS]
    at_once(tell, jobs)
    answers = at_once(ask, jobs)

    for (user, _), (output, read) in zip(jobs, answers, strict=True):
        assert held(output, user) == (True, set())
        assert held(read, user) == (True, set())
