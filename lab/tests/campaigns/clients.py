"""A client process: `clients.py write URL NUMBER TURNS` on a shared server, or `clients.py open FOLDER TRIES` in vain.

A writer says that it has begun, and remembers its turns, five a call, in sessions of its own, of users whom all writers
share. Who opens a folder that another process has open prints the seconds that each refusal took.
"""

import sys
import time
from time import perf_counter

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import StoreError, StoreLocked
from langgraph_engram.memory import Memory

USERS = ("ana", "ben", "eve", "kim")
PER_CALL = 5
THINGS = ("tulips", "letters", "kilometres", "pages", "stairs", "stamps", "bottles", "candles", "shells", "planks")
DEEDS = ("planted", "wrote", "walked", "read", "climbed", "bought", "washed", "burnt", "found", "painted")


def text_of(writer, number):
    """Return what a writer says in a turn; nobody says it twice."""
    return f"Writer{writer} {DEEDS[number % 10]} {number * 10 + writer} {THINGS[number // 10 % 10]}."


def patiently(call):
    """Return what a call returns, called again while the server is away: what it did not acknowledge is sent again."""
    while True:
        try:
            return call()
        except StoreError:
            time.sleep(0.2)


def write(url, writer, turns):
    with patiently(lambda: Memory(url, "rules", encoder=HashingEncoder())) as memory:
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        for start in range(0, turns, PER_CALL):
            call = start // PER_CALL
            said = [{"speaker": f"Writer{writer}", "text": text_of(writer, start + part)} for part in range(PER_CALL)]
            user, session = USERS[(call + writer) % len(USERS)], f"{writer}-{call}"
            rest = {"user_id": user, "session_id": session, "close_session": call % 4 == 0}
            patiently(lambda said=said, rest=rest: memory.remember(said, **rest))


def refuse(folder, tries):
    for _ in range(tries):
        start = perf_counter()
        try:
            Memory(folder, "rules", encoder=HashingEncoder()).close()
        except StoreLocked:
            sys.stdout.write(f"{perf_counter() - start}\n")


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        refuse(sys.argv[2], int(sys.argv[3]))
