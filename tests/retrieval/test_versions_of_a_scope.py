"""Whatever was written and searched before, a scope finds what it would if it were read from its rows anew."""

import random
from datetime import timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_engram import Memory
from langgraph_engram.retrieval.light import LightRetriever
from langgraph_engram.retrieval.search import Search
from langgraph_engram.schema import Scope
from langgraph_engram.stores.index import ScopeIndex
from tests.conftest import NOON

THINGS = "Oslo Porto canoe guitar peanuts bicycle sister Ben dentist novel piano ticket".split()
SAID = ("I moved to {} with my {}.", "Did the {} arrive in {}?", "ok", "Thanks, {}!", "My {} is from {}.")
STEPS = 10


class Talk:
    """A thread of a user that goes on, is edited and cut by lot."""

    def __init__(self, memory, seed):
        self.memory, self.draw, self.thread, self.day = memory, random.Random(seed), [], NOON

    def sentence(self):
        return self.draw.choice(SAID).format(*self.draw.choices(THINGS, k=2))

    def message(self):
        self.day += timedelta(days=self.draw.randint(0, 5), minutes=1)
        kind = self.draw.choice([HumanMessage, HumanMessage, AIMessage])
        stamp = {"said_at": self.day.isoformat()}
        return kind(self.sentence(), id=str(self.draw.random()), additional_kwargs=stamp)

    def go_on(self):
        deed = self.draw.choice(["say", "say", "edit", "fork", "remove"]) if len(self.thread) > 2 else "say"
        at = self.draw.randrange(len(self.thread)) if self.thread else 0
        match deed:
            case "say":
                self.thread += [self.message() for _ in range(self.draw.randint(1, 3))]
            case "edit":
                self.thread[at] = self.thread[at].model_copy(update={"content": self.sentence()})
            case "fork":
                self.thread[at:] = [self.message()]
            case "remove":
                del self.thread[at]
        self.memory.remember(self.thread, user_id="ana", session_id="s", thread=self.thread)


def read_anew(store, scope):
    """Return the index of what the rows hold, with nothing derived."""
    index = ScopeIndex()
    for part in store._rows.read(scope):
        index = index.with_items(*part)
    return index


@pytest.mark.parametrize("seed", range(6))
def test_a_scope_is_found_as_if_it_were_read_anew(seed, intent):
    """At every step of a thread, now and as of a day before, with abandoned branches and without."""
    scope = Scope(user_id="ana")
    with Memory("memory:", "rules", encoder="hashing") as memory:
        talk, retriever = Talk(memory, seed), LightRetriever(memory.store.encoder, memory.settings.retrieve)
        for _ in range(STEPS):
            talk.go_on()
            moment = talk.draw.choice([None, talk.day - timedelta(days=talk.draw.randint(0, 20))])
            branches, query = talk.draw.choice(["current", "all"]), talk.sentence()
            for breadth in ("narrow", "list"):
                search = Search(intent(query, breadth=breadth))
                kept, anew = (
                    retriever.retrieve(index.as_of(moment, branches), search).evidence
                    for index in (memory.store.index(scope), read_anew(memory.store, scope))
                )

                assert [(shown.evidence_id, shown.text) for shown in kept] == [
                    (shown.evidence_id, shown.text) for shown in anew
                ]
                assert [shown.score for shown in kept] == pytest.approx([shown.score for shown in anew], abs=1e-4)
