"""Serve the bench's encoder, and the model that is configured, to other memories: on loopback, as OpenAI's API.

So all embed with the same encoder, and what each asks a model is counted. Without a model a request for one is refused.
"""

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from langgraph_engram.embeddings.base import Encoder

NO_MODEL = "it writes with a language model, and none is configured (--model)"
COUNTED = {"prompt_tokens": "prompt_tokens", "completion_tokens": "completion_tokens"}
DEFAULT_URL = "https://api.openai.com/v1"


class Loopback(ThreadingHTTPServer):
    """`/v1/embeddings` by an encoder, and `/v1/chat/completions` forwarded to where a model is."""

    daemon_threads = True

    def __init__(self, encoder: Encoder, model: str | None, variables: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.encoder, self.model = encoder, model
        self.upstream = variables.get("OPENAI_BASE_URL", DEFAULT_URL).rstrip("/")
        self.key = variables.get("OPENAI_API_KEY", "none")
        self.usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        """What was asked of the model so far."""
        self.lock = Lock()

    @property
    def url(self) -> str:
        """Return the base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> Self:
        """Serve until the context is left."""
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop."""
        self.shutdown()
        self.server_close()

    def count(self, usage: Mapping[str, int]) -> None:
        """Add the tokens of a call."""
        with self.lock:
            self.usage["calls"] += 1
            for name in COUNTED:
                self.usage[name] += usage.get(name) or 0


class _Handler(BaseHTTPRequestHandler):
    server: Loopback

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, reply = self._embed(json.loads(body)) if self.path.endswith("/embeddings") else self._forward(body)
        sent = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def _embed(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        with self.server.lock:
            vectors = self.server.encoder.encode(texts)
        data = [{"object": "embedding", "index": at, "embedding": row.tolist()} for at, row in enumerate(vectors)]
        return 200, {
            "object": "list",
            "model": "encoder",
            "data": data,
            "usage": {"prompt_tokens": 0, "total_tokens": 0},
        }

    def _forward(self, body: bytes) -> tuple[int, dict[str, Any]]:
        if self.server.model is None:
            return 401, {"error": {"message": NO_MODEL, "type": "invalid_request_error", "code": "no_model"}}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.server.key}"}
        try:
            path = self.path.removeprefix("/v1")
            with urlopen(Request(self.server.upstream + path, body, headers)) as answered:
                reply = json.load(answered)
        except HTTPError as error:
            return error.code, {"error": {"message": error.read().decode(errors="replace")[:200]}}
        self.server.count(reply.get("usage") or {})
        return 200, reply
