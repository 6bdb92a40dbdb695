"""Opening models by name, and what they send."""

import subprocess
import sys

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_openai import ChatOpenAI

from langgraph_engram.errors import ModelUnavailable, UnknownModel
from langgraph_engram.llm.chat import ChatSettings
from langgraph_engram.llm.factory import open_model, openai_chat
from langgraph_engram.testing import FakeModel, FakeServer, Reply


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_key_it_says_what_to_do():
    """Before anything is written, and without a call."""
    with pytest.raises(ModelUnavailable, match=r"OPENAI_API_KEY.*OPENAI_BASE_URL"):
        open_model("openai:gpt-4.1-mini", ChatSettings())


def test_a_key_is_enough(monkeypatch):
    """Nothing is sent until something is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")

    model = open_model("openai:gpt-4.1-mini", ChatSettings())

    assert model.name == "openai:gpt-4.1-mini"


def test_a_self_hosted_server_needs_no_key(monkeypatch, ask_text):
    """It gets the settings, the older name of the limit, and any key."""
    with FakeServer([Reply("Hello.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = open_model("openai:any", ChatSettings(temperature=0.5, max_completion_tokens=99)).ask(ask_text())

    assert result.answer == "Hello."
    sent = server.requests[0]
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("any", 0.5, 99)
    assert "max_completion_tokens" not in sent


def test_openai_gets_the_newer_name_of_the_limit(monkeypatch):
    """The older name is refused by its newer models."""
    monkeypatch.setenv("OPENAI_API_KEY", "any")

    chat = openai_chat("gpt-4.1-mini", ChatSettings(max_completion_tokens=99))

    assert isinstance(chat, ChatOpenAI)
    sent = chat._get_request_payload([("user", "Hi")])
    assert sent["max_completion_tokens"] == 99
    assert not sent.get("extra_body")
    assert chat.max_retries == 0


def test_attempts_are_counted_truthfully(monkeypatch, ask_text):
    """The client does not try again behind our back."""
    with FakeServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = open_model("openai:any", ChatSettings(retries=0)).ask(ask_text())

    assert result.usage.calls == len(server.requests) == 1


def test_a_chat_model_is_wrapped_and_a_model_returned():
    """What already answers questions is left as it is."""
    fake = FakeModel()

    wrapped = open_model(GenericFakeChatModel(messages=iter([])), ChatSettings())

    assert wrapped.name == "genericfakechatmodel"
    assert open_model(fake, ChatSettings()) is fake


def test_a_chat_model_is_called_by_its_own_name():
    """Usage entries name the provider and the model."""
    model = open_model(ChatOpenAI(model="gpt-4.1-mini", api_key="any"), ChatSettings())

    assert model.name == "openai:gpt-4.1-mini"


@pytest.mark.parametrize("name", ["gpt-4.1-mini", "openai:", ":x", "", "nosuchprovider:x", 7])
def test_an_unknown_name_lists_what_works(name):
    """The message names the choices."""
    with pytest.raises(UnknownModel, match="openai:NAME"):
        open_model(name, ChatSettings())


def test_the_package_stays_light():
    """Importing the adapters imports no provider's library."""
    code = "import sys, langgraph_engram.llm.factory; print('openai' in sys.modules, 'langchain_openai' in sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.split() == ["False", "False"]
