"""Read what other programs export: conversations of ChatGPT, memories of langmem and mem0.

A memory of langmem or mem0 is read as a message of its user, at the time when it was made: what it was drawn from is
not in such a file.
"""

from collections.abc import Mapping, Sequence

from langgraph_engram.errors import InvalidInput, InvalidMessages, UnreadableFile
from langgraph_engram.formats.datasets import choose_sample
from langgraph_engram.formats.messages import Session, shown, to_messages
from langgraph_engram.state import Message

SPEAKING = frozenset({"user", "assistant"})
READ_CONTENTS = frozenset({"text", "multimodal_text"})
"""Contents of a message of ChatGPT that a person reads: not its reasoning, code it runs, or results of tools."""
HIDDEN = "is_visually_hidden_from_conversation"
TO_EVERYONE = "all"


def is_chatgpt(data: object) -> bool:
    """Return whether parsed JSON looks like conversations.json of ChatGPT's export."""
    return isinstance(_first(data).get("mapping"), Mapping)


def is_langmem(data: object) -> bool:
    """Return whether parsed JSON looks like items of a LangGraph store, where langmem keeps memories."""
    return {"namespace", "key", "value"} <= _first(data).keys()


def is_mem0(data: object) -> bool:
    """Return whether parsed JSON looks like what mem0's `get_all` returns."""
    return isinstance(_first(_mem0_items(data)).get("memory"), str)


def chatgpt_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read conversations, oldest first: of each the branch that was last shown, without tools and hidden messages.

    Args:
        data: One conversation or a list of them.
        sample: The id of the only conversation to read.

    Raises:
        UnreadableFile: A conversation has another shape.
        InvalidInput: The id is unknown.
    """
    conversations = [
        _conversation(item, number) for number, item in enumerate(data if isinstance(data, list) else [data])
    ]
    if sample is not None:
        conversations = [choose_sample([{**item, "id": _id(item)} for item in conversations], "id", sample)]
    conversations.sort(key=_begin)
    return [Session(_id(item), _spoken(item)) for item in conversations]


def langmem_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read the memories of one namespace: items as `store.search` gives them, each by `item.dict()`.

    Args:
        data: A list of items with `namespace`, `key`, `value` and perhaps `created_at`.
        sample: The namespace to read, its parts joined by "/"; required only if there are several.

    Raises:
        UnreadableFile: An item has another shape.
        InvalidInput: There are several namespaces and none was chosen: they may be several users'.
    """
    memories = []
    for number, item in enumerate(data if isinstance(data, list) else [data]):
        if not isinstance(item, Mapping) or not isinstance(item.get("namespace"), list | str):
            raise UnreadableFile(f"expected an item with namespace, key and value at [{number}], not {shown(item)}")
        namespace = item["namespace"]
        source = namespace if isinstance(namespace, str) else "/".join(map(str, namespace))
        memories.append(
            {"source": source, "id": item.get("key"), "text": _text(item.get("value")), "at": item.get("created_at")}
        )
    return _chosen(memories, "langmem", sample)


def mem0_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read the memories of one user, as mem0's `get_all` returns them.

    Args:
        data: `{"results": [...]}` or a list of memories, with `memory` and perhaps `id`, `user_id` and `created_at`.
        sample: The user to read; required only if there are several.

    Raises:
        UnreadableFile: A memory has another shape.
        InvalidInput: There are several users and none was chosen.
    """
    memories = []
    items = _mem0_items(data)
    for number, item in enumerate(items if isinstance(items, list) else [items]):
        if not isinstance(item, Mapping) or not isinstance(item.get("memory"), str):
            raise UnreadableFile(f"expected an object with a memory at [{number}], not {shown(item)}")
        source = str(item.get("user_id") or "")
        memories.append({"source": source, "id": item.get("id"), "text": item["memory"], "at": item.get("created_at")})
    return _chosen(memories, "mem0", sample)


def _chosen(memories: Sequence[Mapping[str, object]], program: str, sample: str | None) -> list[Session]:
    """Return the memories of one source as a session, oldest first."""
    sources = list(dict.fromkeys(str(memory["source"]) for memory in memories))
    if sample is not None or len(sources) > 1:
        sources = [str(choose_sample([{"source": source} for source in sources], "source", sample)["source"])]
    messages: list[Message] = []
    for number, memory in enumerate(memories):
        if memory["source"] not in sources or not str(memory["text"]).strip():
            continue
        try:
            messages += to_messages(
                {"role": "user", "text": memory["text"], "said_at": memory["at"], "id": memory["id"]}
            )
        except InvalidMessages as error:
            raise InvalidMessages(f"[{number}]: {str(error).removeprefix('messages[0]: ')}") from error
    messages.sort(key=lambda message: message.said_at.timestamp() if message.said_at else 0)
    return [Session("-".join(filter(None, [program, *sources])), messages)]


def _text(value: object) -> str:
    """Return the words of a stored value: its content, or its fields by name."""
    if isinstance(value, Mapping):
        for key in ("content", "text", "memory"):
            if value.get(key):
                return _text(value[key])
        return "; ".join(f"{key}: {text}" for key, field in value.items() if key != "kind" and (text := _text(field)))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    return "" if value is None else str(value)


def _mem0_items(data: object) -> object:
    return data["results"] if isinstance(data, Mapping) and "results" in data else data


def _first(data: object) -> Mapping[str, object]:
    first = data[0] if isinstance(data, list) and data else data
    return first if isinstance(first, Mapping) else {}


def _conversation(item: object, number: int) -> Mapping[str, object]:
    if not isinstance(item, Mapping) or not isinstance(item.get("mapping"), Mapping):
        raise UnreadableFile(f"expected a conversation with a mapping at [{number}], not {shown(item)}")
    return item


def _id(conversation: Mapping[str, object]) -> str | None:
    value = conversation.get("conversation_id") or conversation.get("id")
    return None if value is None else str(value)


def _begin(conversation: Mapping[str, object]) -> float:
    time = conversation.get("create_time")
    return float(time) if isinstance(time, int | float) else 0.0


def _spoken(conversation: Mapping[str, object]) -> list[Message]:
    """Return what was said on the branch that ends at `current_node`, in order.

    Raises:
        UnreadableFile: A node is named that is not there, or is its own ancestor.
        InvalidMessages: A message is invalid.
    """
    mapping = conversation["mapping"]
    assert isinstance(mapping, Mapping)  # seen by `_conversation`
    title = shown(conversation.get("title"))
    branch: list[tuple[str, Mapping[str, object]]] = []
    seen: set[object] = set()
    position = conversation.get("current_node")
    while position is not None:
        node = mapping.get(position)
        if not isinstance(node, Mapping) or position in seen:
            raise UnreadableFile(f"expected the nodes of a tree in conversation {title}, broken at {shown(position)}")
        seen.add(position)
        if isinstance(message := node.get("message"), Mapping):
            branch.append((str(position), message))
        position = node.get("parent")
    if not branch and mapping:
        raise InvalidInput(f"conversation {title} has no current_node: export it from ChatGPT anew")
    messages: list[Message] = []
    for node_id, message in reversed(branch):
        try:
            messages += _message(message, node_id)
        except InvalidMessages as error:
            raise InvalidMessages(f"conversation {title}, message {node_id}: {error}") from error
    return messages


def _message(message: Mapping[str, object], node_id: str) -> list[Message]:
    """Return a message of ChatGPT as one of ours; none where it is not part of what was said."""
    author, content, metadata = (_mapping(message.get(key)) for key in ("author", "content", "metadata"))
    parts = content.get("parts")
    said = (
        author.get("role") in SPEAKING
        and content.get("content_type") in READ_CONTENTS
        and message.get("recipient") in (None, TO_EVERYONE)
        and not metadata.get(HIDDEN)
    )
    text = "\n".join(part for part in parts if isinstance(part, str)).strip() if isinstance(parts, list) else ""
    if not said or not text:
        return []
    return to_messages({"role": author["role"], "text": text, "said_at": message.get("create_time"), "id": node_id})


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
