"""Read what other programs export: conversations of ChatGPT, memories of langmem and mem0.

A memory of langmem or mem0 is read as a message of its user, at the time when it was made: what it was drawn from is
not in such a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.messages import Session, shown, to_messages_at
from langgraph_engram.state import Message

SPEAKING = frozenset({"user", "assistant"})
READ_CONTENTS = frozenset({"text", "multimodal_text"})
"""Contents of a message of ChatGPT that a person reads: not its reasoning, code it runs, or results of tools."""
HIDDEN = "is_visually_hidden_from_conversation"
TO_EVERYONE = "all"
SHOWN_IDS = 60


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
    """Read conversations, oldest first: of each the branch that was last shown, without tools and hidden messages."""
    conversations = [_conversation(item, place) for place, item in _items(data)]
    if sample is not None:
        ids = [str(_id(item)) for item in conversations]
        conversations = [conversations[ids.index(_chosen(ids, sample))]]
    conversations.sort(key=_begin)
    return [Session(_id(item), _spoken(item)) for item in conversations]


def langmem_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read the memories of one namespace, its parts joined by "/": items as `store.search` gives them."""
    return _memories("langmem", [_langmem_memory(item, place) for place, item in _items(data)], sample)


def mem0_sessions(data: object, sample: str | None = None) -> list[Session]:
    """Read the memories of one user: a list, or `{"results": [...]}` around it."""
    return _memories("mem0", [_mem0_memory(item, place) for place, item in _items(_mem0_items(data))], sample)


def _chosen(sources: Sequence[str], sample: str | None) -> str:
    """Return the source that is asked for, or the only one; of several it is not guessed, they may be of several users.

    Raises:
        InvalidInput: There are several and none was asked for, or that one is not there; the error lists them.
    """
    if sample is None and len(sources) == 1:
        return sources[0]
    if sample is not None and sample in sources:
        return sample
    named = ", ".join(sources[:SHOWN_IDS]) + (", ..." if len(sources) > SHOWN_IDS else "")
    if sample is None:
        raise InvalidInput(f"the file holds {len(sources)} samples: choose one (--sample ID) of {named}")
    raise InvalidInput(f"unknown sample {sample!r}: choose one of {named}")


@dataclass(frozen=True)
class _Memory:
    source: str
    """Whose it is: a user, or a namespace."""
    key: object
    text: str
    said_at: object


def _langmem_memory(item: object, place: str) -> _Memory:
    if not isinstance(item, Mapping) or not isinstance(item.get("namespace"), list | str):
        raise UnreadableFile(f"expected an item with namespace, key and value at {place}, not {shown(item)}")
    namespace = item["namespace"]
    source = namespace if isinstance(namespace, str) else "/".join(map(str, namespace))
    return _Memory(source, item.get("key"), _text(item.get("value")), item.get("created_at"))


def _mem0_memory(item: object, place: str) -> _Memory:
    if not isinstance(item, Mapping) or not isinstance(item.get("memory"), str):
        raise UnreadableFile(f"expected an object with a memory at {place}, not {shown(item)}")
    return _Memory(str(item.get("user_id") or ""), item.get("id"), item["memory"], item.get("created_at"))


def _memories(program: str, memories: Sequence[_Memory], sample: str | None) -> list[Session]:
    """Return the memories of one source as a session, oldest first."""
    sources = list(dict.fromkeys(memory.source for memory in memories))
    if sample is not None or len(sources) > 1:
        sources = [_chosen(sources, sample)]
    messages: list[Message] = []
    for number, memory in enumerate(memories):
        if memory.source in sources and memory.text.strip():
            item = {"role": "user", "text": memory.text, "said_at": memory.said_at, "id": memory.key}
            messages += to_messages_at(f"[{number}]", item)
    messages.sort(key=lambda message: message.said_at.timestamp() if message.said_at else 0)
    return [Session("-".join(filter(None, [program, *sources])), messages)]


def _items(data: object) -> Iterator[tuple[str, object]]:
    """Yield the items of a list, or a single one, each after its place in errors."""
    for number, item in enumerate(data if isinstance(data, list) else [data]):
        yield f"[{number}]", item


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


def _conversation(item: object, place: str) -> Mapping[str, object]:
    if not isinstance(item, Mapping) or not isinstance(item.get("mapping"), Mapping):
        raise UnreadableFile(f"expected a conversation with a mapping at {place}, not {shown(item)}")
    return item


def _id(conversation: Mapping[str, object]) -> str | None:
    value = conversation.get("conversation_id") or conversation.get("id")
    return None if value is None else str(value)


def _begin(conversation: Mapping[str, object]) -> float:
    time = conversation.get("create_time")
    return float(time) if isinstance(time, int | float) else 0.0


def _spoken(conversation: Mapping[str, object]) -> list[Message]:
    """Return what was said on the branch that ends at `current_node`, in order."""
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
    return [said for node_id, message in reversed(branch) for said in _message(message, node_id, title)]


def _message(message: Mapping[str, object], node_id: str, title: str) -> list[Message]:
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
    item = {"role": author["role"], "text": text, "said_at": message.get("create_time"), "id": node_id}
    return to_messages_at(f"conversation {title}, message {node_id}", item)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
