"""What lasts of what a user says is kept as a profile, and shown where it bears on a request."""

import asyncio
from datetime import UTC, datetime

import mcp
import pytest

from langgraph_engram.integrations.mcp import build_mcp_server
from langgraph_engram.integrations.transcripts import LASTING_LEAD, format_recalled
from langgraph_engram.memory import Memory
from langgraph_engram.results import count_tokens

JANUARY = datetime(2026, 1, 2, 10, tzinfo=UTC)
SAID = [
    ("user", "Always list the ingredients first when I ask for a recipe. I'm vegan."),
    ("assistant", "I will. Always wash your hands before cooking."),
    ("user", "We saw a heron at the lake, and it stood there for an hour."),
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    """Ana has said what she wants, and what she is."""
    with Memory(tmp_path_factory.mktemp("profile") / "store", "rules") as opened:
        turns = [{"role": role, "content": text, "timestamp": JANUARY} for role, text in SAID]
        opened.remember(turns, user_id="ana", session_id="s1", close_session=True)
        yield opened


def test_a_profile_holds_what_lasts_of_what_the_user_said(memory):
    """The assistant's advice and what happened are no part of it."""
    profile = memory.profile("ana")

    wish, vegan = (record.record_id[:8] for record in profile.records)
    assert profile.text.splitlines() == [
        "Instructions:",
        f'- 2 Jan 2026, (id {wish}) "Always list the ingredients first when I ask for a recipe."',
        "State:",
        f'- 2 Jan 2026, (id {vegan}) "I\'m vegan."',
    ]
    assert memory.show("profile", "ana") == profile.records
    assert asyncio.run(memory.aprofile("ana")) == profile
    assert count_tokens(memory.profile("ana", budget=30).text) <= 30


def test_a_profile_is_a_tool_over_mcp(memory):
    """It is the caller's alone."""

    async def profiles():
        async with mcp.Client(build_mcp_server(lambda: memory, None)) as client:
            answers = [await client.call_tool("profile", {"user_id": user}) for user in ("ana", "eve")]
            return [answer.structured_content for answer in answers]

    assert asyncio.run(profiles()) == [{"text": memory.profile("ana").text}, {"text": ""}]


def test_a_statement_can_be_edited_and_taken_back(memory):
    """The profile says what the edit says, and after undo what was said."""
    before = memory.profile("ana")
    vegan = next(record for record in before.records if record.lasting == "state")

    receipt = memory.update(vegan.record_id, "user: I'm vegetarian.", user_id="ana")
    edited = memory.profile("ana").text
    memory.undo(receipt.run_id, user_id="ana")

    assert "vegetarian" in edited
    assert "vegan" not in edited
    assert memory.profile("ana") == before


def test_a_search_shows_the_instruction_whatever_is_asked(memory):
    """Within the budget, with its route; and again in the prompt of an agent, as a quote."""
    found = memory.search("How do I bake a cake?", user_id="ana")

    lasting = [passage for passage in found.evidence if "lasting" in passage.routes]
    assert any("Always list the ingredients first" in passage.text for passage in lasting)
    shown = format_recalled(found)
    assert LASTING_LEAD in shown
    assert '(lasting) "2 Jan 2026, user: Always list the ingredients first' in shown
