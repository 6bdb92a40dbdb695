"""Texts are read by their structure, and long ones are cut into passages under their headings."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from langgraph_engram.text.markdown import (
    DOCUMENT,
    FULL_CHUNK,
    LONG_MESSAGE,
    MAX_CHUNK,
    MAX_OPENING,
    blocks_of,
    chunks_of,
    prose_of,
    statements_of,
    without_code,
)

REPLY = """Here is a plan for the shed.

# The shed

## Foundation

Dig before the frost comes.

1. Clear the ground
2. Pour the concrete

## Costs

| item | price |
|---|---|
| sand | 40 |

Order it like this:

```python
order("sand")
```
"""
LONGEST = MAX_CHUNK + 9 * MAX_OPENING
"""Characters of any passage: six headings, a line that introduces it, and headings inside."""


def words(text):
    return re.findall(r"\w+", text)


def test_blocks_are_headings_paragraphs_lists_tables_and_code():
    """In their order, with the words and levels of headings."""
    blocks = blocks_of(REPLY)

    assert [block.type for block in blocks] == [
        "prose", "heading", "heading", "prose", "list", "heading", "table", "prose", "code"
    ]  # fmt: skip
    assert [(block.level, block.heading) for block in blocks if block.type == "heading"] == [
        (1, "The shed"), (2, "Foundation"), (2, "Costs")
    ]  # fmt: skip
    assert prose_of(REPLY).split("\n\n") == [
        "Here is a plan for the shed.", "Dig before the frost comes.", "Order it like this:"
    ]  # fmt: skip
    assert "sand | 40" not in without_code(REPLY)
    assert "2. Pour the concrete" in without_code(REPLY)


def test_a_passage_knows_its_headings_and_keeps_blocks_whole():
    """A line that introduces a block stays with it; small sections share a passage, with their headings inside."""
    steps = "".join(f"- Step {number} of the roof takes a while\n" for number in range(FULL_CHUNK // 35))
    text = f"# The shed\n\n## Roof\n\nDo this in order:\n\n{steps}\n## Door\n\nPaint it blue.\n\n### Handle\n\nBrass."

    assert list(chunks_of(text, "assistant")) == [
        f"The shed > Roof:\nDo this in order:\n{steps.strip()}",
        "The shed > Door:\nPaint it blue.\n### Handle\nBrass.",
    ]


def test_a_short_plain_message_has_no_passages():
    """Nor has a person's long one without structure, nor their short list; an assistant's long one has."""
    long = "The tide was low and we walked out to the wreck. " * (LONG_MESSAGE // 40)

    assert chunks_of("Take the ferry. It leaves at noon.", "assistant") == ()
    assert chunks_of(long, "user") == ()
    assert chunks_of("We need:\n- rope\n- tar", "user") == ()
    assert len(chunks_of(long, "assistant")) == 1


def test_a_document_is_cut_as_a_whole_whoever_sent_it():
    """At its sentences, and nothing of it is lost."""
    text = "The tide was low and we walked out to the wreck. " * (DOCUMENT // 40)

    assert chunks_of(text, "user") == chunks_of(text, "assistant")
    assert max(map(len, chunks_of(text, "user"))) <= MAX_CHUNK
    assert " ".join(chunks_of(text, "user")).split() == text.split()


def test_of_a_persons_message_only_what_is_pasted_is_cut():
    """Code with the line that introduces it; the paragraphs are sentences in their own right."""
    text = "My build fails since Monday. This is the script:\n\n```\nmake all\n```\n\nWhat is wrong with it?"

    assert chunks_of(text, "user") == ("My build fails since Monday. This is the script:\n```\nmake all\n```",)
    assert prose_of(text).endswith("What is wrong with it?")


def test_sentences_of_a_passage_are_those_of_paragraphs_lists_and_tables():
    """Code states nothing."""
    assert statements_of("Costs:\n\nIt is cheap. Buy it.\n\n- one bag\n\n```\nx = 1\n```") == [
        "Costs:", "It is cheap.", "Buy it.", "- one bag"
    ]  # fmt: skip


MARKS = st.sampled_from(
    "# ;## ;- ;1. ;```\n;~~~ py\n;| a | b |\n;|---|---|\n;> ;    ;\n;\n\n;***;===\n;<div>\n;[x]: ;\t;: ;"
    "alpha ;beta. ;\r\n;gamma\n".split(";")
)


@settings(max_examples=150, deadline=None)
@given(st.lists(MARKS, max_size=60).map("".join))
@example(REPLY * 100)
@example("```\n" + "x = 1\n" * 20_000)
@example("".join(f"{'  ' * (number % 90)}- x{number}\n" for number in range(500)))
def test_no_word_of_any_message_is_lost(text):
    """What is cut has every word in passages of bounded size; a person's paragraphs and passages have it together."""
    cut = chunks_of(text, "assistant") or [text]
    pasted = [without_code(text), *chunks_of(text, "user")]

    assert set(words(text)) <= set(words(" ".join(cut)))
    assert set(words(text)) <= set(words(" ".join(pasted)))
    assert max(map(len, cut)) <= LONGEST
