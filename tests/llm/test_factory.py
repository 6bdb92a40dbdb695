"""Opening models by name, and what they send."""

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_openai import ChatOpenAI

from langgraph_engram.errors import UnknownModel
from langgraph_engram.llm.chat import ChatSettings, open_chat, open_model
from langgraph_engram.testing import FakeModel
from tests.fake_server import FakeServer, Reply
from tests.llm.conftest import AskText


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def test_a_self_hosted_server_needs_no_key(monkeypatch):
    """It gets the settings, the older name of the limit, and any key."""
    with FakeServer([Reply("Hello.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = open_model("openai:any", ChatSettings(temperature=0.5, max_completion_tokens=99)).ask(AskText())

    assert result.answer == "Hello."
    sent = server.requests[0]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("any", 0.5, 99)
    assert "max_completion_tokens" not in sent


def test_openai_gets_the_newer_name_of_the_limit(monkeypatch):
    """The older name is refused by its newer models."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")

    chat = open_chat("openai:gpt-4.1-mini", ChatSettings(max_completion_tokens=99))

    assert (chat.max_tokens, chat.extra_body) == (99, None)


def test_the_client_tries_again_as_often_as_settings_say(monkeypatch):
    """A rate limit is met three times."""
    with FakeServer(otherwise=Reply(status=429, retry_after=0.01)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = open_model("openai:any", ChatSettings(retries=2)).ask(AskText())

    assert result.failure is not None
    assert len(server.requests) == 3


def test_a_chat_model_is_wrapped_and_a_model_returned():
    """Usage entries name the provider and the model; what already answers questions is left as it is."""
    fake = FakeModel()

    opened = [
        open_model(chat, ChatSettings())
        for chat in (GenericFakeChatModel(messages=iter([])), ChatOpenAI(model="gpt-4.1-mini", api_key="any"), fake)
    ]

    assert [model.name for model in opened[:2]] == ["genericfakechatmodel", "openai:gpt-4.1-mini"]
    assert opened[2] is fake


@pytest.mark.parametrize("name", ["gpt-4.1-mini", "openai:", ":x", "", "nosuchprovider:x", 7])
def test_an_unknown_name_lists_what_works(name):
    """The message names the choices."""
    with pytest.raises(UnknownModel, match="openai:NAME"):
        open_model(name, ChatSettings())
