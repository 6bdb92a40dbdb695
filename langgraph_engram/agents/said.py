"""Say which messages of an agent's thread are newly said, and make them ours.

What people and the assistant said counts. What tools gave back does not, for a search of memory would feed itself; nor
what was answered from memory word for word, nor a summary that stands for messages, nor an exchange in which the user
had something forgotten.
"""

import logging
from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_engram.errors import InvalidMessages
from langgraph_engram.formats.messages import to_messages
from langgraph_engram.state import Message

LOG = logging.getLogger(__name__)
Keep = Literal["all", "user", "none"]
KINDS: dict[Keep, tuple[type, ...]] = {"all": (HumanMessage, AIMessage), "user": (HumanMessage,), "none": ()}
FROM_MEMORY = "engram_from_memory"
"""The key in a message's `response_metadata` that says that memory answered it, and no model."""
FORGET = "forget_memory"
SUMMARY = "summarization"


def start_of_newest_turn(messages: Sequence[BaseMessage]) -> int:
    """Give the place of the first of the newest messages of the user that stand side by side; the end for none."""
    asked = [place for place, one in enumerate(messages) if isinstance(one, HumanMessage)]
    if not asked:
        return len(messages)
    before = takewhile(lambda place: isinstance(messages[place], HumanMessage), range(asked[-1], -1, -1))
    return min(before)


def question_of(messages: Sequence[BaseMessage]) -> str:
    """Give what the user says in these messages."""
    texts = (str(one.text).strip() for one in messages if isinstance(one, HumanMessage) and not _stands_for_others(one))
    return "\n".join(text for text in texts if text)


def after(messages: Sequence[BaseMessage], last_id: str | None) -> Sequence[BaseMessage]:
    """Give the messages after one; all of them for an empty id, and the newest turn where it is gone."""
    if last_id == "":
        return messages
    places = [place for place, one in enumerate(messages) if one.id == last_id]
    return messages[places[0] + 1 if places else start_of_newest_turn(messages) :]


def newly_said(messages: Sequence[BaseMessage], keep: Keep, *, with_ids: bool) -> list[Message]:
    """Give what is to be kept, in order, as messages of ours.

    Args:
        messages: Those that were not kept yet.
        keep: Whose words.
        with_ids: Whether the messages' ids last: then each is known by it, however often it is sent.
    """
    said: list[Message] = []
    for one in _without_forgotten(messages):
        if isinstance(one, KINDS[keep]) and not _stands_for_others(one):
            said += _ours(one, with_ids=with_ids)
    return said


def _ours(message: BaseMessage, *, with_ids: bool) -> list[Message]:
    try:
        made = to_messages([message])
    except InvalidMessages as error:
        # It would be refused at every turn, and hold up all that is said after it.
        LOG.warning("a message of the agent's thread is not kept: %s", error)
        return []
    return [one.model_copy(update={"external_id": message.id}) if with_ids else one for one in made]


def _stands_for_others(message: BaseMessage) -> bool:
    from_memory = bool(message.response_metadata.get(FROM_MEMORY))
    return from_memory or message.additional_kwargs.get("lc_source") == SUMMARY


def _without_forgotten(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Leave out each turn in which something was forgotten: what is said there says it again."""
    turns: list[list[BaseMessage]] = [[]]
    for one in messages:
        if isinstance(one, HumanMessage) and turns[-1] and not isinstance(turns[-1][-1], HumanMessage):
            turns.append([])
        turns[-1].append(one)
    return [one for turn in turns if not any(_has_forgotten(other) for other in turn) for one in turn]


def _has_forgotten(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) and message.status == "success" and (message.name or "").endswith(FORGET)
