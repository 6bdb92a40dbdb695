"""Count the modules of the package that a second call of `remember` and of `recall` executes: what a debugger visits.

```
python -m lab.tests.campaigns.executed
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


def modules_of_calls() -> dict[str, list[str]]:
    """Return the files that a second `recall` and a second `remember` execute, by the name of the call."""
    said = {"role": "user", "content": SECOND}
    with Memory("memory:", "rules", encoder="hashing") as memory:
        memory.remember([{"role": "user", "content": FIRST}], user_id="ana", session_id="first")
        memory.recall("Where does my sister live?", user_id="ana")
        return {
            "recall": executed(lambda: memory.recall("Where does my sister work now?", user_id="ana")),
            "remember": executed(
                lambda: memory.remember([said], user_id="ana", session_id="second", close_session=True)
            ),
        }


if __name__ == "__main__":
    for call, visited in modules_of_calls().items():
        sys.stdout.write(f"{call}: {len(visited)} modules\n")
        sys.stdout.writelines(f"  {Path(file).relative_to(PACKAGE)}\n" for file in visited)
