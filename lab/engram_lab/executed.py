"""Count the modules of the package that a second call of `remember` and of `recall` executes: what a debugger visits.

```
python -m engram_lab.executed
```
"""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import langgraph_engram
from langgraph_engram.memory import Memory

PACKAGE = Path(langgraph_engram.__file__).resolve().parent
FIRST = "I moved to Oslo in May 2023 and adopted a cat named Miso. My sister Runa is a nurse."
SECOND = "My sister Runa works in Bergen now. We went hiking last week."


def executed(call: Callable[[], object]) -> list[str]:
    """Return the files of the package, in order, of which a function is entered while `call` runs, in any thread."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(file for file in seen if Path(file).is_relative_to(PACKAGE))


def main() -> None:
    """Print the files of each call, and how many."""
    memory = Memory("memory:", "rules", encoder="hashing")
    memory.remember([{"role": "user", "content": FIRST}], user_id="ana", session_id="first")
    memory.recall("Where does my sister live?", user_id="ana")
    for name, call in {
        "recall": lambda: memory.recall("Where does my sister work now?", user_id="ana"),
        "remember": lambda: memory.remember(
            [{"role": "user", "content": SECOND}], user_id="ana", session_id="second", close_session=True
        ),
    }.items():
        files = executed(call)
        print(f"{name}: {len(files)} modules", *(f"  {Path(file).relative_to(PACKAGE)}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
