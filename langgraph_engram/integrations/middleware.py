"""Give an agent of `create_agent` a memory: recall before the model is called, remember after the agent.

agent = create_agent(model, middleware=[EngramMiddleware(memory)], context_schema=Context, checkpointer=saver)

Needs the extra `agents`. What is recalled is added to the system message of the call, between tags, as data; it
never becomes a message of the thread, so it is never remembered as if somebody had said it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired, cast, get_args

from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage
from langgraph.config import get_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import TypedDict

from langgraph_engram.branches import changes_of
from langgraph_engram.errors import InvalidInput, MissingExtra
from langgraph_engram.filters import Filters, check_filters, check_metadata
from langgraph_engram.integrations.identity import ScopeOverrides, resolve_scope, thread_of
from langgraph_engram.integrations.transcripts import (
    Keep,
    Redaction,
    format_recalled,
    messages_after,
    noted,
    question_of,
    redactor,
    said_before,
    start_of_newest_turn,
    to_remember,
    unkept,
)
from langgraph_engram.memory import Memory
from langgraph_engram.results import Recollection
from langgraph_engram.retrieval.pool import fit_budget
from langgraph_engram.schema import Metadata, Scope, Turn
from langgraph_engram.state import Message, Thread

try:
    from langchain.agents import create_agent as create_agent
    from langchain.agents.middleware import AgentMiddleware as AgentMiddleware
    from langchain.agents.middleware import AgentState as AgentState
    from langchain.agents.middleware import ExtendedModelResponse
    from langchain.agents.middleware import ModelRequest as ModelRequest
    from langchain.agents.middleware import ModelResponse as ModelResponse
    from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
except ModuleNotFoundError as error:
    raise MissingExtra(
        f"the package {error.name} is not installed, which middleware and agents need: "
        "pip install 'langgraph-engram[agents]'"
    ) from error

LOG = logging.getLogger(__name__)
Update = dict[str, Any]
Mode = Literal["auto", "select", "search", "recall"]
OnError = Literal["warn", "raise"]
BLOCK_TOKENS = 400
"""Tokens of what bears on a message that a model is shown before it answers."""
Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class Recalled(TypedDict):
    """What was recalled for a turn of the user."""

    message_id: str
    """The message for which it was recalled."""
    scope: str
    """The key of the scope: nobody else is shown it."""
    text: str
    """What the model is shown; may be empty."""


class EngramState(AgentState[Any]):
    """What the middleware adds to the state of an agent."""

    engram_recalled: NotRequired[Annotated[Recalled, PrivateStateAttr]]
    """Set before the agent."""
    engram_kept: NotRequired[Annotated[str, PrivateStateAttr]]
    """Set before and after the agent: the id of the last message that is remembered or was there before; empty for the
    beginning of the thread."""
    engram_held: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """Set after the agent: the ids of the messages that the thread held then. What it lacks of them when it goes on was
    removed; what it lacked before was trimmed or summarized in a run."""
    engram_changed: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """Set before and after the agent: what was edited and removed on this way of the thread."""
    engram_said: NotRequired[Annotated[list[AnyMessage], PrivateStateAttr]]
    """Set at each model call: what was said, in case that a summary takes it out of the thread before it is kept."""
    engram_trouble: NotRequired[Annotated[str, OmitFromInput]]
    """Set if memory failed in this turn, cleared by the next one."""


class EngramMiddleware(AgentMiddleware[EngramState, Any, Any]):
    """Long-term memory for an agent.

    It recalls once for each turn of the user; after the agent it remembers the new messages of the user and the
    assistant, in the session of the thread, each once. The scope comes from the run, see `identity`: without a user the
    run fails. Any other failure of memory leaves the agent running, without memory: it is logged, sent as a custom
    event, and set in the state as `engram_trouble`; what was not remembered is remembered after the next turn.
    """

    state_schema = EngramState

    def __init__(
        self,
        memory: Memory,
        *,
        mode: Mode = "auto",
        budget: int | None = None,
        keep: Keep = "all",
        on_error: OnError = "warn",
        metadata: Metadata | None = None,
        filters: Filters | None = None,
        redact: Redaction | None = None,
        keep_removed: bool = False,
        forget_removed: bool = False,
        user_id: str | None = None,
        tenant: str | None = None,
        agent_id: str | None = None,
    ) -> None:
        """Create the middleware.

        Args:
            mode: "auto" selects where the memory has a language model, and searches where it has none. "select" lets
                that model, or the memory's `selector`, name in one call what bears on the user's message; "search"
                shows evidence and calls no model; "recall" also answers, as deep as it takes.
            budget: Tokens of evidence that are shown; None for the preset's, and at most 400 for a message.
            keep: Whose messages are remembered: "all", those of the "user", or "none".
            on_error: What a failure of memory does: "warn" or "raise".
            metadata: What is kept with the messages, for `filters`.
            filters: What is recalled fulfils them.
            redact: Applied to what is recalled, and to the question that memory is asked; where it raises an error,
                nothing is recalled.
            keep_removed: Whether messages that are removed from a thread between its runs are still recalled.
            forget_removed: Whether they are erased from memory; else they stay, and are recalled no more.
            user_id, tenant, agent_id: The default scope. An authenticated user of a server overrides it.

        Raises:
            InvalidInput: An option has an unknown value, or "select" has no language model.
        """
        super().__init__()
        if not isinstance(memory, Memory):
            raise InvalidInput(f"memory is {memory!r}: pass a Memory")
        for name, value, kind in (("mode", mode, Mode), ("keep", keep, Keep), ("on_error", on_error, OnError)):
            if value not in get_args(kind):
                raise InvalidInput(f"{name} is {value!r}: choose among {', '.join(get_args(kind))}")
        if keep_removed and forget_removed:
            raise InvalidInput("what is removed from a thread is kept or forgotten: ask for one of the two")
        if mode == "select":
            memory.require_selector('mode="select"')
        self._memory, self._budget = memory, budget
        self._selects = mode in ("auto", "select") and memory.selects
        self._recalls = mode == "recall"
        self._metadata, self._filters = check_metadata(metadata), check_filters(filters)
        self._redact = redactor(redact)
        self._keep, self._raises = keep, on_error == "raise"
        self._keeps_removed, self._forgets_removed = keep_removed, forget_removed
        self._default = ScopeOverrides(user_id=user_id, tenant=tenant, agent_id=agent_id)

    def before_agent(self, state: EngramState, runtime: Runtime[Any]) -> Update:
        """Follow the thread, recall for the user's newest turn, once, and mark where new messages begin."""
        scope, messages = self._scope(runtime), state["messages"]
        start, update = _begin_turn(state, scope.key)
        recalled = Recalled(message_id=_id_before(messages, len(messages)), scope=scope.key, text="")
        earlier = state.get("engram_recalled")
        is_known = earlier and {**earlier, "text": ""} == recalled and not state.get("engram_trouble")

        def recall() -> Update:
            followed = self._follow(state, runtime, scope)
            if is_known:
                return followed
            text = self._recall(messages[start:], messages, runtime, scope)
            return {**followed, "engram_recalled": {**recalled, "text": text}}

        return update | ({} if is_known else {"engram_recalled": recalled}) | self._guarded("recall", recall, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ExtendedModelResponse[Any]:
        """Show the model what was recalled, and note what is said."""
        return _noting(request, handler(self._with_memory(request)))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> ExtendedModelResponse[Any]:
        """Show the model what was recalled, and note what is said."""
        return _noting(request, await handler(self._with_memory(request)))

    def after_agent(self, state: EngramState, runtime: Runtime[Any]) -> Update | None:
        """Remember the new messages."""
        scope, recalled = self._scope(runtime), state.get("engram_recalled")
        fresh = unkept(state["messages"], state.get("engram_kept"), state.get("engram_said", ()))
        held: Update = {"engram_held": [message.id for message in state["messages"] if message.id]}
        if not fresh or (recalled and recalled["scope"] != scope.key):
            # A user who continues another user's run does not take over that user's messages.
            return held

        def keep() -> Update:
            thread = _thread_of(state, None)
            self._remember(to_remember(fresh, self._keep, with_ids=thread is not None), thread, runtime, scope)
            index, session_id = self._memory.store.index(scope), thread_of(runtime) or ""
            changed: Update = {"engram_changed": changes_of(index, session_id, thread)} if thread else {}
            return {"engram_kept": fresh[-1].id or "", "engram_said": [], **held, **changed}

        return self._guarded("keep", keep, runtime)

    async def abefore_agent(self, state: EngramState, runtime: Runtime[Any]) -> Update:
        """Run `before_agent` in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    async def aafter_agent(self, state: EngramState, runtime: Runtime[Any]) -> Update | None:
        """Run `after_agent` in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def _scope(self, runtime: Runtime[Any]) -> Scope:
        return resolve_scope(runtime, None, self._default)

    def _follow(self, state: EngramState, runtime: Runtime[Any], scope: Scope) -> Update:
        """Withdraw from memory what the thread no longer holds, and bring back what it holds again."""
        held = None if self._keeps_removed else state.get("engram_held")
        if self._keep == "none" or not (thread := _thread_of(state, held)):
            return {}
        self._remember([], thread, runtime, scope)
        index, session_id = self._memory.store.index(scope), thread_of(runtime) or ""
        changed = changes_of(index, session_id, thread)
        for turn in index.turns.in_session(session_id) if self._forgets_removed else ():
            if turn.withdrawn == "removed":
                self._memory.forget(turn_id=turn.turn_id, **dict(scope))
        return {"engram_changed": changed} if changed != thread.changed else {}

    def _recall(
        self, newest: Sequence[BaseMessage], messages: Sequence[BaseMessage], runtime: Runtime[Any], scope: Scope
    ) -> str:
        question = self._redact(question_of(newest))
        if not question:
            return ""
        asked = {"budget": self._budget, "now": datetime.now(UTC), "filters": self._filters, **dict(scope)}
        if self._recalls:
            found = self._memory.recall(question, **asked)
        else:
            thread = said_before(messages, newest, self._redact)
            found = self._memory.search(question, select=self._selects, thread=thread, **asked)
        shown = _without_visible(found, thread_of(runtime), {message.id for message in messages})
        if self._budget is None and shown.sort == "message":
            shown = shown.model_copy(update={"evidence": fit_budget(shown.evidence, BLOCK_TOKENS)})
        event = {"step": "recall", "evidence": len(shown.evidence), "verdict": shown.verdict}
        runtime.stream_writer({"engram": event})
        return self._redact(format_recalled(shown)) if shown.evidence else ""

    def _with_memory(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        recalled = cast(EngramState, request.state).get("engram_recalled")
        if not recalled or not recalled["text"] or recalled["scope"] != self._scope(request.runtime).key:
            return request
        return request.override(system_message=with_block(request.system_message, recalled["text"]))

    def _remember(self, messages: list[Message], thread: Thread | None, runtime: Runtime[Any], scope: Scope) -> None:
        if messages or thread:
            about: dict[str, Any] = {"metadata": self._metadata, "thread": thread, **dict(scope)}
            receipt = self._memory.remember(messages, session_id=thread_of(runtime), **about)
            counted = ("edited_turns", "withdrawn_turns", "restored_turns")
            followed = {name: count for name in counted if (count := getattr(receipt, name))}
            if messages or followed:
                counts = {"kept": receipt.stored_turns, "records": receipt.records, "pending": receipt.pending}
                runtime.stream_writer({"engram": {"step": "keep", **counts, **followed}})

    def _guarded(self, step: str, do: Callable[[], Update], runtime: Runtime[Any]) -> Update:
        """Run a step of memory; report a failure, or raise it if configured."""
        try:
            return do()
        except Exception as error:
            # Third-party stores and models fail in any way, so everything is caught here alone (docs/decisions/0022).
            if self._raises:
                raise
            LOG.warning("memory could not %s, and the agent goes on without: %s", step, error, exc_info=True)
            runtime.stream_writer({"engram": {"step": step, "error": str(error)}})
            return {"engram_trouble": f"{step}: {error}"}


def _begin_turn(state: EngramState, scope_key: str) -> tuple[int, Update]:
    """Return the index at which the user's newest turn begins, and the state to set for it."""
    messages, earlier = state["messages"], state.get("engram_recalled")
    start = start_of_newest_turn(messages)
    update: Update = {"engram_trouble": ""} if state.get("engram_trouble") else {}
    other = earlier if earlier and earlier["scope"] != scope_key else None
    if other:  # messages of another user's run are not this user's, remembered or not
        start = max(start, len(messages) - len(messages_after(messages, other["message_id"])))
    if other or "engram_kept" not in state:
        update |= {"engram_kept": _id_before(messages, start), "engram_said": []}
    return start, update


def _noting(request: ModelRequest[Any], response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
    """Return a response that also notes what was said up to it and in it."""
    state = cast(EngramState, request.state)
    newer = [*messages_after(state["messages"], state.get("engram_kept")), *response.result]
    return ExtendedModelResponse(response, Command(update={"engram_said": noted(state.get("engram_said", ()), newer)}))


def _thread_of(state: EngramState, held: list[str] | None) -> Thread | None:
    """Return the thread of a run as memory follows it; None without a checkpointer, where message ids are not stable.

    Args:
        held: The ids that the thread held when it was last followed; None where nothing is taken for removed.
    """
    config, messages = get_config(), state["messages"]
    if not config["configurable"].get(CONFIG_KEY_CHECKPOINTER):
        return None
    own = str(config["configurable"].get("checkpoint_ns", "")).split("|")[:-1]
    return Thread(
        messages=to_remember(messages, "all", with_ids=True),
        held=[message.id for message in messages if message.id] if held is None else held,
        changed=state.get("engram_changed", {}),
        forked="checkpoint_id" in config["metadata"],
        graph="/" + "/".join(name.partition(":")[0] for name in own),
    )


def _id_before(messages: Sequence[BaseMessage], index: int) -> str:
    """Return the id of the message before an index; empty at the beginning of the thread."""
    return messages[index - 1].id or "" if index else ""


def _without_visible(found: Recollection, thread_id: str | None, message_ids: set[str | None]) -> Recollection:
    """Leave out what the model sees anyway: evidence whose turns are all messages of its thread."""

    def is_visible(turn: Turn) -> bool:
        return turn.session_id == thread_id and turn.external_id in message_ids

    unseen = [piece for piece in found.evidence if not piece.turns or not all(map(is_visible, piece.turns))]
    return found.model_copy(update={"evidence": unseen})


def with_block(system: SystemMessage | None, text: str) -> SystemMessage:
    """Append a text to a system message of any content type."""
    if system is None:
        return SystemMessage(text)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{text}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": text}]})
