"""Files are downloaded from the hub, played by a local server."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from huggingface_hub import constants

from langgraph_engram.embeddings.minilm_weights import REVISION, cached_file, download_file
from langgraph_engram.errors import EncoderUnavailable


class SmallHub(BaseHTTPRequestHandler):
    """Serve one file as the hub does."""

    content = b'{"model_type": "bert"}'

    def do_HEAD(self) -> None:
        """Answer with what identifies the file."""
        found = self.path == f"/owner/model/resolve/{REVISION}/config.json"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(self.content) if found else 0))
        if found:
            self.send_header("ETag", '"0123456789"')
            self.send_header("X-Repo-Commit", REVISION)
        else:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.end_headers()

    def do_GET(self) -> None:
        """Answer with the file."""
        self.do_HEAD()
        self.wfile.write(self.content)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


@pytest.fixture
def small_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub on this machine. Gives the folder where downloads are cached."""
    with ThreadingHTTPServer(("127.0.0.1", 0), SmallHub) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        url = f"http://127.0.0.1:{server.server_port}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        yield tmp_path / "hub"
        server.shutdown()
        thread.join()


def test_a_file_is_downloaded_and_found_in_the_cache_later(small_hub: Path) -> None:
    """The second call does without the network."""
    assert cached_file("owner/model", "config.json", REVISION) is None

    path = download_file("owner/model", "config.json", REVISION, hint="")

    assert path.read_bytes() == SmallHub.content
    assert path.is_relative_to(small_hub)
    assert cached_file("owner/model", "config.json", REVISION) == path


@pytest.mark.usefixtures("small_hub")
def test_a_file_that_the_hub_does_not_have_is_named() -> None:
    """The error ends with what to do instead."""
    with pytest.raises(EncoderUnavailable, match=r"cannot fetch 'vocab\.txt' of 'owner/model'.*; do something else$"):
        download_file("owner/model", "vocab.txt", REVISION, hint="do something else")
