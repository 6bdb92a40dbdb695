"""Exports of ChatGPT, langmem and mem0 become sessions."""

import json

import pytest

from langgraph_engram.errors import InvalidInput, UnreadableFile
from langgraph_engram.formats.files import parse_conversations


def parse(data, **options):
    return parse_conversations(json.dumps(data).encode(), "export.json", **options)


def said(parsed):
    return [[(message.role, message.text) for message in session.messages] for session in parsed.sessions]


def node(parent, role, *parts, kind="text", time=None, **fields):
    message = {"author": {"role": role}, "content": {"content_type": kind, "parts": [*parts]}, "create_time": time}
    return {"parent": parent, "message": message | fields, "children": []}


def conversation(**changes):
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    mapping = {
        "root": {"parent": None, "message": None},
        "system": node("root", "system", ""),
        "hidden": node("system", "user", "My profile.", **hidden),
        "asked": node("hidden", "user", "Which plants do bees like?", time=1718269000.5),
        "first": node("asked", "assistant", "Roses."),
        "search": node("asked", "assistant", "search(bees)", recipient="browser"),
        "thought": node("search", "assistant", "Hm.", kind="thoughts"),
        "second": node("thought", "assistant", "Lavender and thyme."),
        "image": node("second", "user", {"asset_pointer": "x"}, "Is this thyme?", kind="multimodal_text"),
    }
    return {"conversation_id": "c1", "create_time": 2.0, "mapping": mapping, "current_node": "image"} | changes


def test_chatgpt_is_read_along_the_current_branch():
    """What was regenerated, hidden, thought or sent to a tool is left out; conversations come oldest first."""
    parsed = parse([conversation(), conversation(conversation_id="c0", create_time=1.0, current_node="first")])

    assert parsed.format == "chatgpt"
    assert [session.session_id for session in parsed.sessions] == ["c0", "c1"]
    assert said(parsed) == [
        [("user", "Which plants do bees like?"), ("assistant", "Roses.")],
        [("user", "Which plants do bees like?"), ("assistant", "Lavender and thyme."), ("user", "Is this thyme?")],
    ]
    assert parsed.sessions[0].messages[0].said_at.year == 2024
    assert [session.session_id for session in parse([conversation(), conversation(id="c2")], sample="c1").sessions] == [
        "c1"
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"current_node": "gone"}, "broken at 'gone'"),
        ({"current_node": None}, "has no current_node"),
        ({"mapping": {"a": node("b", "user", "x"), "b": node("a", "user", "y")}, "current_node": "a"}, "broken at 'a'"),
    ],
)
def test_a_broken_tree_is_refused(changes, problem):
    """Nothing is guessed, and a circle ends."""
    with pytest.raises(InvalidInput, match=problem):
        parse([conversation(**changes)])


def item(key, value, namespace=("memories", "ana"), created="2024-06-13T09:15:00+00:00"):
    return {"namespace": [*namespace], "key": key, "value": value, "created_at": created, "updated_at": created}


def test_langmem_stores_are_read_by_what_they_hold():
    """Texts, schemas of their own, and profiles; oldest first, known again by their key."""
    items = [
        item("b", {"kind": "Memory", "content": {"content": "Keeps bees."}}, created="2024-06-14T00:00:00Z"),
        item("a", {"content": "Lives in Bled."}),
        item("c", {"kind": "Profile", "content": {"name": "Ana", "likes": ["tea", "bees"]}}, created="2024-06-15"),
    ]

    parsed = parse(items)

    assert (parsed.format, parsed.sessions[0].session_id) == ("langmem", "langmem-memories/ana")
    assert said(parsed) == [
        [("user", "Lives in Bled."), ("user", "Keeps bees."), ("user", "name: Ana; likes: tea, bees")]
    ]
    assert [message.external_id for message in parsed.sessions[0].messages] == ["a", "b", "c"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_langmem_wrote_can_be_read():
    """The items of a real store, as langmem's own tool fills it."""
    from langgraph.store.memory import InMemoryStore
    from langmem import create_manage_memory_tool

    store = InMemoryStore()
    tool = create_manage_memory_tool(namespace=("memories", "ana"), store=store)
    tool.invoke({"content": "Ana keeps bees.", "action": "create"})

    parsed = parse([found.dict() for found in store.search(("memories",))])

    assert said(parsed) == [[("user", "Ana keeps bees.")]]


@pytest.mark.parametrize("wrap", [lambda items: items, lambda items: {"results": items}])
def test_mem0_is_read_for_one_user(wrap):
    """Memories of several users are not mixed: one is to be chosen."""
    one = {"id": "1", "memory": "Keeps bees.", "user_id": "ana", "created_at": "2024-06-13T09:15:00-07:00"}
    other = {"id": "2", "memory": "Rows.", "user_id": "ben", "created_at": "2024-06-14T09:15:00-07:00"}

    parsed = parse(wrap([one]))

    assert (parsed.format, said(parsed)) == ("mem0", [[("user", "Keeps bees.")]])
    assert said(parse(wrap([one, other]), sample="ben")) == [[("user", "Rows.")]]
    with pytest.raises(
        InvalidInput, match=r"export.json: the file holds 2 samples: choose one \(--sample ID\) of ana, ben"
    ):
        parse(wrap([one, other]))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([item("a", "x"), {"key": "b"}], r"expected an item with namespace, key and value at \[1\]"),
        ([{"memory": "x"}, {"text": "y"}], r"expected an object with a memory at \[1\]"),
        ([{"mapping": {}}, 7], r"expected a conversation with a mapping at \[1\], not 7"),
    ],
)
def test_another_shape_is_refused(data, problem):
    """The error names the place."""
    with pytest.raises(UnreadableFile, match=problem):
        parse(data)
