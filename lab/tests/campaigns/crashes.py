"""Kill a process that writes to a memory, again and again, and count what is lost.

`python -m lab.tests.campaigns.crashes KILLS SEED`: a client writes down outside of the store what it is about to do and
what was acknowledged. It is killed at a random moment; the next one does again what was not acknowledged, as a client
would, or leaves what was to be forgotten to a retry, which forgets all of it or nothing, and goes on. After most kills
the store is examined: with `retry` done, `doctor` finds nothing, each turn that was acknowledged and not forgotten is
stored once, a thread that was edited and forked is held as it was last followed, and each item of the `EngramStore` is
as it was put. The figures are printed as JSON; the exit status is 1 if anything was found. Nothing here has an open
store when it forks.
"""

import json
import os
import signal
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from langgraph.store.base import PutOp

from engram_lab.cost import CountingModel
from lab.tests.campaigns.children import in_child, main, start
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import InvalidInput
from langgraph_engram.formats.messages import Session
from langgraph_engram.integrations.store import EngramStore
from langgraph_engram.memory import Memory
from langgraph_engram.state import Message, Thread
from langgraph_engram.stores import snapshots

USERS = ("ana", "ben")
CITIES = ("Oslo", "Lisbon", "Porto", "Bergen")
ACTIONS = {"remember": 8, "load": 3, "forget": 2, "undo": 2, "retry": 1, "put": 3, "follow": 4, "reopen": 2}
THREAD = "thread"
"""The session of a user's thread, which is edited and forked."""
PER_PUT = 100
"""Items of a put: Chroma writes the indexes of items once in a thousand rows."""
LONGEST = 2.0
"""Seconds after which a client is killed, at most."""
WHILE_OPENING = 0.2
"""The share of kills that are timed from the start; the others are timed from the first thing that a client does."""
AIMED = 0.5
"""The share of those others that are timed from the beginning of an action that is drawn: few meet a short one."""
AIMED_LONGEST = 0.1
"""Seconds after the beginning of such an action at which a client is killed, at most."""
PATIENCE = 5.0
"""Seconds after which an action that was drawn is no longer waited for."""
LEFT = 0.5
"""The share of forgettings that were cut off and that nobody repeats."""
UNEXAMINED = 0.3
"""The share of kills that the next client finds as they are."""


def keys_of(task):
    """Return the keys of the items that a task puts."""
    return [f"{task['id'] % 4}-{part}" for part in range(PER_PUT)]


class Client:
    """What is killed: it does one thing after the other and writes down each before and after."""

    def __init__(self, folder, log, rng, number):
        self.folder, self.rng, self.number = folder, rng, number
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.open()

    def open(self):
        self.memory = Memory(self.folder, CountingModel(), encoder=HashingEncoder())  # short sessions share runs
        self.items = EngramStore(self.folder, encoder=HashingEncoder())

    def close(self):
        self.memory.close()
        self.items.close()

    def write(self, **line):
        os.write(self.log, (json.dumps(line) + "\n").encode())

    def do(self, task):
        """Do a task that is written down before and after."""
        self.write(begun=task)
        getattr(self, task["do"])(task)
        self.write(done=task["id"])

    def work(self):
        while True:
            [action] = self.rng.choices(list(ACTIONS), list(ACTIONS.values()))
            task = {"do": action, "user": self.rng.choice(USERS), "id": self.number}
            self.number += 1
            whole = self.memory.show("turns", task["user"])
            turns = [turn for turn in whole if turn.session_id != THREAD]
            if action == "remember":
                task |= self._said(turns)
            elif action == "load":
                names = [f"s{self.number}-{part}" for part in range(self.rng.randint(2, 5))]
                task["parts"] = {name: self._said([])["texts"] for name in names}
            elif action == "forget":
                if len(turns) < 8:
                    continue
                turn = self.rng.choice(turns)
                task |= {"session": turn.session_id} | ({"turn": turn.turn_id} if self.rng.random() < 0.5 else {})
                task["texts"] = [
                    other.text
                    for other in turns
                    if other.session_id == turn.session_id and task.get("turn") in (None, other.turn_id)
                ]
            elif action == "follow":
                task["thread"] = self._thread([turn for turn in whole if turn.session_id == THREAD])
            elif action == "undo":
                decisions = self.memory.show("decisions", task["user"])
                if not decisions:
                    continue
                task["run"] = self.rng.choice(decisions).run_id
            self.do(task)

    def _said(self, turns):
        sessions = sorted({turn.session_id for turn in turns})
        goes_on = sessions and self.rng.random() < 0.3
        texts = [f"My neighbour planted {self.number} tulips on day {part}." for part in range(self.rng.randint(1, 4))]
        if not goes_on:
            texts.append(f"I live in {self.rng.choice(CITIES)}.")
        return {
            "session": self.rng.choice(sessions) if goes_on else f"s{self.number}",
            "texts": texts,
            "close": self.rng.random() < 0.5,
        }

    def _thread(self, turns):
        """Return a thread that goes on from a part of the stored one, often with an edit in it."""
        held = sorted((turn for turn in turns if not turn.withdrawn), key=lambda turn: turn.seq)
        said = [[turn.external_id, turn.text] for turn in held[: self.rng.randint(0, len(held))]]
        if said and self.rng.random() < 0.5:
            self.rng.choice(said)[1] = f"I live in {self.rng.choice(CITIES)}, edit {self.number}."
        return [*said, [f"m{self.number}", f"My neighbour planted {self.number} roses."]]

    def follow(self, task):
        said = [Message(speaker=task["user"], text=text, external_id=name) for name, text in task["thread"]]
        self.memory.remember(said, thread=Thread(messages=said, forked=True), user_id=task["user"], session_id=THREAD)

    def remember(self, task):
        self.memory.remember(
            [{"speaker": task["user"], "text": text} for text in task["texts"]],
            user_id=task["user"],
            session_id=task["session"],
            close_session=task["close"],
        )

    def load(self, task):
        sessions = [
            Session(name, [Message(speaker=task["user"], text=text) for text in texts])
            for name, texts in task["parts"].items()
        ]
        self.memory.remember_sessions(sessions, user_id=task["user"])

    def forget(self, task):
        # What was forgotten before the kill is unknown when it is done again.
        with suppress(InvalidInput):
            self.memory.forget(user_id=task["user"], session_id=task["session"], turn_id=task.get("turn"))

    def leave(self, task):
        """Do a forgetting that was cut off no more: a retry finishes it, if it was announced."""
        self.memory.retry(user_id=task["user"])
        stored = {(turn.session_id, turn.text) for turn in self.memory.show("turns", task["user"])}
        kept = [text for text in task["texts"] if (task["session"], text) in stored]
        self.write(**({"left": task["id"], "kept": kept} if kept else {"done": task["id"]}))

    def undo(self, task):
        # A later run may build on it.
        with suppress(InvalidInput):
            self.memory.undo(task["run"], user_id=task["user"])

    def retry(self, task):
        self.memory.retry(user_id=task["user"])

    def put(self, task):
        value = {"text": f"note {task['id']}"}
        self.items.batch([PutOp(("notes", task["user"]), key, value) for key in keys_of(task)])

    def reopen(self, task):
        self.close()
        self.open()


class Witness:
    """What must be stored, by what was acknowledged."""

    def __init__(self):
        self.turns, self.items, self.unsure, self.done, self.position = {}, {}, {}, Counter(), 0
        self.threads = dict.fromkeys(USERS, ())
        self.torn = []

    def read(self, log):
        """Take in what was added to the log; return what the client was doing when it was killed."""
        doing, lines = "opening", self.unread(log)
        for line in lines:
            if task := line.get("begun"):
                self.unsure[task["id"]], doing = task, task["do"]
            elif kept := line.get("kept"):
                task = self.unsure.pop(line["left"])
                self.torn += [f"forgotten in part: {task}"] if kept != task["texts"] else []
            else:
                self._acknowledge(self.unsure.pop(line["done"]))
                doing = "nothing"
        self.position += len(lines)
        return doing

    def unread(self, log):
        """Return what was added to the log, but for a line that is being written."""
        lines = log.read_text().split("\n")[self.position : -1] if log.exists() else []
        return [json.loads(line) for line in lines]

    def _acknowledge(self, task):
        self.done[task["do"]] += 1
        parts = task.get("parts") or {task.get("session"): task.get("texts", [])}
        keys = [(task["user"], session, text) for session, texts in parts.items() for text in texts]
        match task["do"]:
            case "remember" | "load":
                self.turns |= dict.fromkeys(keys)
            case "forget":
                for key in keys:
                    self.turns.pop(key, None)
            case "follow":
                self.threads[task["user"]] = [text for _, text in task["thread"]]
            case "put":
                self.items |= {(task["user"], key): f"note {task['id']}" for key in keys_of(task)}

    def compare(self, client):
        """Return what is wrong in a store in which everything is acknowledged."""
        stored = Counter(
            (user, turn.session_id, turn.text)
            for user in USERS
            for turn in client.memory.show("turns", user)
            if turn.session_id != THREAD
        )
        wrong = [f"lost: {key}" for key in self.turns if not stored[key]]
        wrong += [f"{count} times: {key}" for key, count in stored.items() if count > 1]
        wrong += [f"never acknowledged, or forgotten: {key}" for key in stored if key not in self.turns]
        found = {
            (user, item.key): item
            for user in USERS
            for item in client.items.search(("notes", user), query="note", limit=10_000)
        }
        for (user, key), text in self.items.items():
            item = found.get((user, key))
            if item is None or item.value["text"] != text or item.score is None:
                wrong.append(f"item {key} of {user} is {item}, not {text}")
        for user, thread in self.threads.items():
            turns = [turn for turn in client.memory.show("turns", user) if turn.session_id == THREAD]
            held = sorted(turn.text for turn in turns if not turn.withdrawn)
            wrong += [f"the thread of {user} is {held}, not {sorted(thread)}"] if held != sorted(thread) else []
        for user in USERS:
            wrong += [f"pending after retry: {task}" for task in client.memory.status(user).pending]
        return [*wrong, *self.torn, *(f"doctor: {finding}" for finding in client.memory.doctor().findings)]


def redo(client, witness):
    for task in list(witness.unsure.values()):
        if task["do"] == "forget" and client.rng.random() < LEFT:
            client.leave(task)
        else:
            client.do(task)


def await_action(action, witness, log):
    """Wait until a client begins an action, if it does so soon."""
    latest = time.monotonic() + PATIENCE
    while witness.unread(log)[-1].get("begun", {}).get("do") != action and time.monotonic() < latest:
        time.sleep(0.005)


def campaign(kills, seed):
    """Kill as many clients, and return the figures."""
    rng, witness, doing, wrong = Random(seed), Witness(), Counter(), []
    examined = 0
    snapshots.MIN_ITEMS = 1
    with tempfile.TemporaryDirectory() as home:
        folder, log = Path(home) / "store", Path(home) / "log"

        def examine():
            client = Client(folder, log, rng, 0)
            redo(client, witness)
            for user in USERS:
                client.memory.retry(user_id=user)
            witness.read(log)
            wrong = witness.compare(client)
            client.close()
            return wrong

        for kill in range(1, kills + 1):
            seeded = Random(f"{seed} {kill}")

            def live(seeded=seeded, kill=kill):
                client = Client(folder, log, seeded, kill * 10_000)
                redo(client, witness)
                client.work()

            child, longest = start(live), LONGEST
            if rng.random() >= WHILE_OPENING:
                while not witness.unread(log):
                    time.sleep(0.01)
                if rng.random() < AIMED:
                    await_action(rng.choice(list(ACTIONS)), witness, log)
                    longest = AIMED_LONGEST
            time.sleep(rng.uniform(0.0, longest))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            doing[witness.read(log)] += 1
            if not os.WIFSIGNALED(status):
                wrong.append(f"kill {kill}: the client ended by itself")
            if kill == kills or rng.random() >= UNEXAMINED:
                examined += 1
                found = in_child(examine)
                witness.read(log)
                wrong += [f"kill {kill}: {line}" for line in (["the examination failed"] if found is None else found)]
    return {
        "kills": kills,
        "seed": seed,
        "examined": examined,
        "doing": dict(doing),
        "acknowledged": dict(witness.done),
        "turns": len(witness.turns),
        "wrong": wrong,
    }


if __name__ == "__main__":
    main(campaign)
