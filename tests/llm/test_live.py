"""The chat adapter against a real server at OPENAI_BASE_URL. The model's name is in ENGRAM_LIVE_MODEL, or asked for."""

import os

import httpx
import pytest

from langgraph_engram.llm.chat import ChatSettings, open_model
from tests.llm.conftest import AskNote, AskText

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def name():
    url = os.environ.get("OPENAI_BASE_URL")
    if not url:
        pytest.skip("set OPENAI_BASE_URL to a server")
    known = os.environ.get("ENGRAM_LIVE_MODEL")
    return f"openai:{known or httpx.get(f'{url}/models').json()['data'][0]['id']}"


@pytest.fixture
def settings():
    return ChatSettings(max_completion_tokens=60, timeout_seconds=200, concurrency=1)


def test_a_working_method_is_found_and_kept(name, settings):
    """The first question may cost refused calls; the next does not."""
    model = open_model(name, settings)

    first, second = model.ask_all([AskNote("The president resigned today."), AskNote("How are you?")])

    assert first.failure is None
    assert second.failure is None
    assert second.usage.calls - second.usage.repaired == 1


def test_a_prompt_beyond_the_context_is_too_long(name, settings):
    """It is not tried again."""
    result = open_model(name, settings).ask(AskText("word " * 20_000))

    assert result.failure.kind == "too_long"
    assert result.usage.calls == 1
