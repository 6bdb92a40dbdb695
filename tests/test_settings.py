"""`ENGRAM_SETTINGS` changes a preset in places, `ENGRAM_CHAT` how a chat model is talked to; both say what is wrong."""

import json

import pytest

from langgraph_engram.config import chat_settings, overridden, resolve, resolve_chat
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.settings import ChatSettings, Settings


def test_settings_are_changed_in_places(monkeypatch, tmp_path):
    """As JSON or as a file of JSON; what is not named stays as the preset has it."""
    changes = {"update": {"approve": ["MERGE"]}, "retrieve": {"top_k": 7}}
    (tmp_path / "settings.json").write_text(json.dumps(changes))

    monkeypatch.setenv("ENGRAM_SETTINGS", json.dumps(changes))
    told = resolve("memory:", None, "dimmem", None).settings
    monkeypatch.setenv("ENGRAM_SETTINGS", str(tmp_path / "settings.json"))
    read = resolve("memory:", None, "dimmem", None).settings
    monkeypatch.delenv("ENGRAM_SETTINGS")
    plain = resolve("memory:", None, "dimmem", None).settings

    assert told == read
    assert (told.update.approve, told.retrieve.top_k) == (["MERGE"], 7)
    assert told.model_copy(update={"update": plain.update, "retrieve": plain.retrieve}) == plain
    assert told.update.model_copy(update={"approve": plain.update.approve}) == plain.update


@pytest.mark.parametrize("text", ["{", "[]", "/nowhere/settings.json", '{"no": 1}', '{"retrieve": {"top_k": "many"}}'])
def test_what_does_not_fit_is_refused(text):
    """The message names the variable."""
    with pytest.raises(InvalidSetting, match="ENGRAM_SETTINGS"):
        overridden(Settings(), text)


def test_how_a_chat_model_is_talked_to_is_said_by_the_environment(monkeypatch):
    """What is given goes first; what is named nowhere stays as by default."""
    monkeypatch.setenv("ENGRAM_CHAT", '{"timeout_seconds": 300, "structured_methods": ["json_prompt"]}')

    told = resolve_chat()

    assert (told.timeout_seconds, told.structured_methods) == (300, ["json_prompt"])
    assert told.retries == ChatSettings().retries
    assert resolve_chat(ChatSettings(retries=1)) == ChatSettings(retries=1)
    monkeypatch.delenv("ENGRAM_CHAT")
    assert resolve_chat() == ChatSettings()


@pytest.mark.parametrize("text", ["{", "[]", "/nowhere/chat.json", '{"no": 1}', '{"timeout_seconds": 0}'])
def test_chat_settings_that_do_not_fit_are_refused(text):
    """The message names the variable."""
    with pytest.raises(InvalidSetting, match="ENGRAM_CHAT"):
        chat_settings(text)
