"""Weights are downloaded from the hub, played by a local server."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from huggingface_hub import constants

from langgraph_engram.embeddings.minilm import (
    FILES,
    OPTIONAL_FILES,
    REPOSITORY,
    REVISION,
    find_weights,
    installed_weights,
)
from langgraph_engram.errors import EncoderUnavailable


class SmallHub(SimpleHTTPRequestHandler):
    """Serve the files of a folder as the hub does."""

    def translate_path(self, path: str) -> str:
        """Return the file of a path in the repository."""
        return f"{self.directory}/{path.removeprefix(f'/{REPOSITORY}/resolve/{REVISION}/')}"

    def end_headers(self) -> None:
        """Add what identifies the file."""
        self.send_header("ETag", f'"{abs(hash(self.path))}"')
        self.send_header("X-Repo-Commit", REVISION)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


@pytest.fixture
def hub_folder(tmp_path: Path, no_weights: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a hub on this machine."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SmallHub, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(constants, "ENDPOINT", url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield folder
        server.shutdown()
        thread.join()


def test_weights_are_downloaded_once_and_found_later(packaged_weights: Path, hub_folder: Path, empty_hub: Path) -> None:
    """With their hashes verified; the second call does without the hub."""
    for name in (*FILES, *OPTIONAL_FILES):
        (hub_folder / name).parent.mkdir(exist_ok=True)
        source = packaged_weights / name
        if source.is_file():
            (hub_folder / name).symlink_to(source)
        else:
            (hub_folder / name).write_text("{}", encoding="utf-8")

    downloaded = find_weights(None)

    assert downloaded.is_relative_to(empty_hub)
    assert installed_weights() == find_weights(None) == downloaded


def test_a_hub_without_the_files_is_named(hub_folder: Path) -> None:
    """The error ends with what to do instead."""
    with pytest.raises(EncoderUnavailable, match=r"cannot fetch 'sentence-transformers/.*langgraph-engram\[offline\]"):
        find_weights(None)
