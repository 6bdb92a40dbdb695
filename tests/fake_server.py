"""Serve a scripted chat on loopback.

with FakeServer([Reply(status=429, retry_after=1), Reply("Hello")]) as server:
    ChatOpenAI(base_url=server.url, api_key="any", model="fake").invoke("Hi")
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Literal, Self, cast

Request = dict[str, Any]
Refusal = Literal["json_schema", "json_object", "tools"]


@dataclass(frozen=True)
class Reply:
    """How a `FakeServer` replies to one request."""

    content: str = ""
    """The text of the answer; the arguments of the function call if the request has tools."""
    status: int = 200
    error: str = "something went wrong"
    """The message of a status of 400 and above."""
    retry_after: float | None = None
    """Seconds in a Retry-After header."""
    after_seconds: float = 0.0
    """Seconds before the reply begins."""
    finish_reason: str = "stop"
    usage: bool = True
    """Whether the reply reports its tokens: 7 of the prompt, 3 of the answer."""
    as_text: bool = False
    """Whether the answer is text even if the request has tools."""
    hangs_up: bool = False
    """Whether the connection is closed without a reply."""
    body: str | None = None
    """What is sent in place of a chat completion, word for word."""


REFUSALS: dict[Refusal, Reply] = {
    "json_schema": Reply(status=500, error="response_format.type must be 'text' or 'json_object'"),
    "json_object": Reply(status=400, error="response_format is not supported"),
    "tools": Reply(status=400, error="this model does not support tools"),
}


class FakeServer:
    """Serve /v1/chat/completions on loopback from a script, and record the `requests`."""

    def __init__(
        self, script: Sequence[Reply] = (), *, refuses: Collection[Refusal] = (), otherwise: Reply | None = None
    ) -> None:
        """Create a server; it starts when entered.

        Args:
            script: Replies, in order, to requests that are not refused.
            refuses: Ways of requesting JSON that are refused, as real servers refuse them.
            otherwise: The reply once the script is used up; None for status 500.
        """
        self.requests: list[Request] = []
        self.most_at_once = 0
        """The largest number of requests in flight at once."""
        self._at_once = 0
        self._script = list(script)
        self._refuses = refuses
        self._otherwise = otherwise or Reply(status=500, error="the script is used up")
        self._lock = Lock()
        self._closing = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """Return the base URL, as in OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *failed: object) -> None:
        """Stop, without waiting for slow replies."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def next_reply(self, request: Request) -> Reply:
        """Record a request, wait as the script says, and return its reply."""
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            reply = self._choose(request)
        self._closing.wait(reply.after_seconds)
        with self._lock:
            self._at_once -= 1
        return reply

    def _choose(self, request: Request) -> Reply:
        method = (request.get("response_format") or {}).get("type") or ("tools" if request.get("tools") else None)
        if method in self._refuses:
            return REFUSALS[cast(Refusal, method)]
        return self._script.pop(0) if self._script else self._otherwise


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Implement the part of OpenAI's interface that chat models use."""

        def do_POST(self) -> None:
            """Answer a request for a chat completion."""
            request: Request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = server.next_reply(request)
            if not reply.hangs_up:
                try:
                    self._send(request, reply)
                except ConnectionError:
                    self.close_connection = True  # the client timed out

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

        def _send(self, request: Request, reply: Reply) -> None:
            self.send_response(reply.status)
            streams = bool(request.get("stream")) and reply.status < 400
            self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
            if reply.retry_after is not None:
                self.send_header("Retry-After", str(reply.retry_after))
            self.end_headers()
            whole = json.dumps(_body(request, reply)) if reply.body is None else reply.body
            for chunk in _chunks(request, reply) if streams and reply.body is None else [whole]:
                self.wfile.write(chunk.encode())

    return Handler


def _body(request: Request, reply: Reply) -> Request:
    if reply.status >= 400:
        return {"error": {"message": reply.error, "type": "scripted", "code": None}}
    message: Request = {"role": "assistant", "content": reply.content}
    if request.get("tools") and not reply.as_text:
        function = {"name": request["tools"][0]["function"]["name"], "arguments": reply.content}
        message |= {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}
    usage = {"usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}} if reply.usage else {}
    return _completion(request, "chat.completion", message=message, finish_reason=reply.finish_reason) | usage


def _chunks(request: Request, reply: Reply) -> Iterator[str]:
    deltas = [{"role": "assistant", "content": f"{word} "} for word in reply.content.split(" ")]
    for delta, reason in [*((delta, None) for delta in deltas), ({}, reply.finish_reason)]:
        part = _completion(request, "chat.completion.chunk", delta=delta, finish_reason=reason)
        yield f"data: {json.dumps(part)}\n\n"
    yield "data: [DONE]\n\n"


def _completion(request: Request, kind: str, **choice: object) -> Request:
    choices = [{"index": 0, **choice}]
    return {"id": "reply", "object": kind, "created": 0, "model": request.get("model"), "choices": choices}
