"""Give a memory to clients of the Model Context Protocol: the tools `remember`, `recall` and `search`.

They are defined here once, and served in two ways: over HTTP beside LangGraph's own routes, and over standard input and
output for desktop clients. Needs the extra `mcp`. Whose memory it is, is the door's to say; where no door does, each
tool takes a `user_id`. A model that calls a tool can name no other.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from langgraph_engram.errors import EngramError
from langgraph_engram.formats.requests import make_scope
from langgraph_engram.results import Recollection
from langgraph_engram.schema import Scope

if TYPE_CHECKING:
    from langgraph_engram.memory import Memory


NAME = "langgraph-engram"
INSTRUCTIONS = (
    "Long-term memory of one user. Call recall to answer a question from earlier conversations, search for the "
    "evidence alone, and remember with what was said once it is worth keeping."
)
REMEMBER = "Keep messages of a conversation in long-term memory. What is known already is not kept twice."
RECALL = "Answer a question from long-term memory, with the evidence that the answer cites as [1], [2], ..."
SEARCH = "Find what long-term memory holds on something, best first, without an answer. Takes milliseconds."

Query = Annotated[str, Field(description="What is asked or looked for, in plain words.")]
Budget = Annotated[int | None, Field(description="Tokens of evidence, at most.", ge=1)]
User = Annotated[str, Field(description="Whose memory it is.")]


class SentMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["user", "assistant"] = "user"
    content: str = Field(description="What was said.")
    name: str | None = Field(default=None, description="Who said it, if known by name.")
    said_at: str | None = Field(default=None, description="When, as ISO 8601; now unless told otherwise.")


Messages = Annotated[list[SentMessage], Field(description="The messages, oldest first.", min_length=1)]
Session = Annotated[str | None, Field(description="The conversation they belong to, if it goes on from call to call.")]


class RememberResult(BaseModel):
    """What one `remember` did."""

    stored_turns: int
    known_turns: int
    records: int
    pending: int


class Passage(BaseModel):
    """One piece of evidence."""

    text: str
    said_at: list[str]
    """When the turns that it rests on were said, as ISO 8601."""
    turn_ids: list[str]


class SearchResult(BaseModel):
    """What one `search` found."""

    verdict: Literal["sufficient", "partial", "absent"]
    evidence: list[Passage]


class RecallResult(BaseModel):
    """What one `recall` answered."""

    answer: str
    verdict: Literal["sufficient", "partial", "absent"]
    missing: list[str]
    evidence: list[Passage]


class ScopeResolver(Protocol):
    """Say whose memory a call is about."""

    def __call__(self, context: Context[Any, Any]) -> Scope:
        """Give the scope of a call, or raise `EngramError`."""


@dataclass(frozen=True)
class Tools:
    """What the tools do, for a scope. They run in threads."""

    memory: "Callable[[], Memory]"

    def remember(self, scope: Scope, messages: list[SentMessage], session_id: str | None) -> RememberResult:
        """Keep messages."""
        said = [one.model_dump(exclude_none=True) for one in messages]
        with failure_message():
            receipt = self.memory().remember(said, session_id=session_id, **scope.model_dump())
        return RememberResult.model_validate(receipt.model_dump(include=set(RememberResult.model_fields)))

    def recall(self, scope: Scope, query: str, budget: int | None) -> RecallResult:
        """Answer a question."""
        with failure_message():
            told = self.memory().recall(query, budget=budget, **scope.model_dump())
        return RecallResult(
            verdict=told.verdict, evidence=to_passages(told), answer=told.answer or "", missing=told.missing
        )

    def search(self, scope: Scope, query: str, budget: int | None) -> SearchResult:
        """Find evidence."""
        with failure_message():
            found = self.memory().search(query, budget=budget, **scope.model_dump())
        return SearchResult(verdict=found.verdict, evidence=to_passages(found))


@dataclass(frozen=True)
class KnownUserTools:
    """The tools as they are where the door says whose memory it is."""

    tools: Tools
    whose: ScopeResolver

    def remember(self, context: Context[Any, Any], messages: Messages, session_id: Session = None) -> RememberResult:
        """Keep messages of the user whom the door knows."""
        return self.tools.remember(self._scope(context), messages, session_id)

    def recall(self, context: Context[Any, Any], query: Query, budget: Budget = None) -> RecallResult:
        """Answer a question of the user whom the door knows."""
        return self.tools.recall(self._scope(context), query, budget)

    def search(self, context: Context[Any, Any], query: Query, budget: Budget = None) -> SearchResult:
        """Find evidence for the user whom the door knows."""
        return self.tools.search(self._scope(context), query, budget)

    def _scope(self, context: Context[Any, Any]) -> Scope:
        with failure_message():
            return self.whose(context)


@dataclass(frozen=True)
class NamedUserTools:
    """The tools as they are where no door knows anybody, and each call names the user."""

    tools: Tools

    def remember(self, user_id: User, messages: Messages, session_id: Session = None) -> RememberResult:
        """Keep messages of a user."""
        return self.tools.remember(named(user_id), messages, session_id)

    def recall(self, user_id: User, query: Query, budget: Budget = None) -> RecallResult:
        """Answer a question of a user."""
        return self.tools.recall(named(user_id), query, budget)

    def search(self, user_id: User, query: Query, budget: Budget = None) -> SearchResult:
        """Find evidence for a user."""
        return self.tools.search(named(user_id), query, budget)


def named(user_id: str) -> Scope:
    """Give the scope of a user by name."""
    with failure_message():
        return make_scope(user_id, "default", None)


def build_mcp_server(memory: "Callable[[], Memory]", whose: ScopeResolver | None) -> MCPServer[Any]:
    """Build a server of the three tools.

    Args:
        memory: Gives the memory when a tool is called.
        whose: Says whose memory a call is about; None for tools that take a `user_id`.
    """
    server: MCPServer[Any] = MCPServer(NAME, instructions=INSTRUCTIONS, log_level="ERROR")
    tools = Tools(memory)
    own = KnownUserTools(tools, whose) if whose else NamedUserTools(tools)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    server.add_tool(own.remember, "remember", description=REMEMBER, annotations=writes)
    server.add_tool(own.recall, "recall", description=RECALL, annotations=reads)
    server.add_tool(own.search, "search", description=SEARCH, annotations=reads)
    return server


def to_passages(found: Recollection) -> list[Passage]:
    """Give evidence as clients are shown it."""
    return [
        Passage(
            text=one.text,
            said_at=[turn.said_at.isoformat() for turn in one.turns if turn.said_at],
            turn_ids=[turn.turn_id for turn in one.turns],
        )
        for one in found.evidence
    ]


@contextmanager
def failure_message() -> Iterator[None]:
    """Let the model that called a tool read what was wrong, where it is an error of ours."""
    try:
        yield
    except EngramError as error:
        raise ToolError(str(error)) from error
