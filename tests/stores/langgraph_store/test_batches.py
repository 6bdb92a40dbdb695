"""A batch is checked whole, reads what was before it, and returns results in order."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Event

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langgraph_engram.errors import InvalidInput
from langgraph_engram.integrations.store import EngramStore

DIMENSIONS = 64


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (GetOp(("a.b",), "k"), InvalidNamespaceError),
        *(
            (PutOp(("a",), "k", value), InvalidInput)
            for value in ([1], "text", {"when": datetime(2024, 1, 1)}, {"set": {1}})
        ),
        (PutOp(("a",), "k", {}, index="title"), InvalidInput),
        (PutOp(("a",), "k", {}, ttl=5), InvalidInput),
        (SearchOp(("a",), filter={"x": {"$near": 1}}), InvalidInput),
        (ListNamespacesOp((MatchCondition("infix", ("a",)),)), InvalidInput),
        (ListNamespacesOp(max_depth=[]), InvalidInput),
        ("get", InvalidInput),
    ],
)
def test_an_invalid_batch_does_nothing(ours, wrong, error):
    """Not even what comes before the mistake."""
    with pytest.raises(error):
        ours.batch([PutOp(("a",), "before", {}), wrong])

    assert ours.search(()) == []


def test_large_batches_are_written_whole(make, embeddings):
    """More than Chroma takes in one request."""
    store = make({"dims": DIMENSIONS, "embed": embeddings})
    ops = [PutOp(("a", str(n % 7)), str(n), {"n": n}, index=["n"] if n % 2 else False) for n in range(4_500)]

    store.batch(ops)

    assert len(store.search((), limit=10_000)) == 4_500
    assert [store.get(("a", str(n % 7)), str(n)).value for n in (0, 2_001, 4_499)] == [
        {"n": n} for n in (0, 2_001, 4_499)
    ]


def test_the_event_loop_is_not_blocked():
    """While texts are encoded and Chroma is written to: whoever holds the encoder up is on the loop itself."""
    encoding, resume = Event(), Event()

    def embed(texts):
        encoding.set()
        assert resume.wait(60), "the event loop stood still"
        return [[1.0, 0.0] for _ in texts]

    async def use(store):
        put = asyncio.create_task(store.aput(("a",), "k", {"text": "any"}))
        while not encoding.is_set():
            await asyncio.sleep(0)
        resume.set()
        await put

    with EngramStore("memory:", index={"dims": 2, "embed": embed}) as store:
        asyncio.run(use(store))

        assert store.get(("a",), "k") is not None


def test_threads_may_write_and_read_at_once(ours):
    """Nothing is lost, and what a reader sees fits together."""

    def write(number):
        ours.batch([PutOp(("a", str(number % 3)), f"{number}-{part}", {"n": number}) for part in (0, 1)])

    def read(_):
        numbers = [item.value["n"] for item in ours.search((), limit=1000)]
        return all(numbers.count(number) == 2 for number in numbers)

    with ThreadPoolExecutor(4) as pool:
        written, fits = pool.map(write, range(20)), list(pool.map(read, range(50)))
        list(written)

    assert all(fits)
    assert len(ours.search((), limit=1000)) == 40
