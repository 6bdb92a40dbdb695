"""Take the pictures of the inspector that the documentation shows, of the sample conversation of `engram demo`.

python docs/take_screenshots.py    needs Chromium, and the extras inspect and offline
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.parse import quote

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from langgraph_engram.cli.demo import DEMO_USER, load_sessions
from langgraph_engram.memory import Memory
from langgraph_engram.server.credentials import Credentials
from langgraph_engram.server.inspector.pages import inspector_routes

IMAGES = Path(__file__).parent / "images"
PORT = 2099
SITE = f"http://127.0.0.1:{PORT}"
QUESTION = "When is Maren's wedding now?"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"


def main(folder: Path) -> None:
    """Remember the conversation, correct one record, and take each picture.

    Args:
        folder: Where the pictures go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(ignore_cleanup_errors=True) as data, Memory(data, "rules", "engram") as memory:
        memory.remember_sessions(load_sessions(), user_id=DEMO_USER)
        corrected = next(record for record in memory.show("records", DEMO_USER) if "14 September" in record.content)
        receipt = memory.update(
            corrected.record_id, "Maren: The wedding was first planned for 14 September.", user_id=DEMO_USER
        )
        with Served(memory) as served:
            user = f"?user={DEMO_USER}"
            take(folder / "timeline.png", f"/memory{user}&order=oldest", 1100, 900, LIGHT)
            take(folder / "timeline-dark.png", f"/memory{user}&order=oldest", 1100, 900, DARK)
            take(folder / "record.png", f"/memory/records/{receipt.record.record_id}{user}", 1100, 1250, LIGHT)
            take(folder / "ask.png", served.ask(QUESTION), 1100, 1100, LIGHT)


class Served:
    """The inspector of a memory, in a thread, with one answer that can be looked at again."""

    def __init__(self, memory: Memory) -> None:
        """Serve a memory to this machine."""
        routes = [Route("/answer", self._show), *inspector_routes(lambda: memory, Credentials())]
        self._server = uvicorn.Server(
            uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=PORT, log_level="error")
        )
        self._thread = Thread(target=self._server.run)
        self._answer = ""

    def __enter__(self) -> "Served":
        """Start."""
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.05)
        return self

    def __exit__(self, *failed: object) -> None:
        """Stop."""
        self._server.should_exit = True
        self._thread.join()

    def ask(self, query: str) -> str:
        """Ask a question, as the form does, and return where its page is shown."""
        address = f"{SITE}/memory/ask?user={quote(DEMO_USER)}"
        with httpx.Client(timeout=60) as client:
            client.get(address)
            form = {"query": query, "mode": "recall", "form_token": client.cookies["engram_form"]}
            self._answer = client.post(address, data=form).raise_for_status().text
        return "/answer"

    async def _show(self, request: Request) -> HTMLResponse:  # noqa: ARG002 - a route takes it
        return HTMLResponse(self._answer)


def take(file: Path, path: str, width: int, height: int, scheme: str) -> None:
    """Write a picture of a page."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is installed: the pictures are taken with one of them")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}", scheme]
    command = [browser, *options, f"--screenshot={file}", SITE + path]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
