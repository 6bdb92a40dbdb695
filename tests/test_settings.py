"""`ENGRAM_SETTINGS` changes settings of a preset, `ENGRAM_CHAT` those of a chat model; both say what is wrong."""

import json

import pytest

from langgraph_engram.config import overridden, resolve, resolve_chat
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.llm.chat import ChatSettings
from langgraph_engram.settings import Settings


def test_settings_of_a_preset_are_changed(monkeypatch, tmp_path):
    """As JSON or as a file of JSON; what is not named stays as the preset has it."""
    changes = {"update": {"approve": ["MERGE"]}, "paper": {"top_k": 7}}
    (tmp_path / "settings.json").write_text(json.dumps(changes))

    monkeypatch.setenv("ENGRAM_SETTINGS", json.dumps(changes))
    from_json = resolve("memory:", None, "dimmem", None).settings
    monkeypatch.setenv("ENGRAM_SETTINGS", str(tmp_path / "settings.json"))
    from_file = resolve("memory:", None, "dimmem", None).settings
    monkeypatch.delenv("ENGRAM_SETTINGS")
    plain = resolve("memory:", None, "dimmem", None).settings

    assert from_json == from_file
    assert (from_json.update.approve, from_json.paper.top_k) == (["MERGE"], 7)
    assert from_json.model_copy(update={"update": plain.update, "paper": plain.paper}) == plain
    assert from_json.update.model_copy(update={"approve": plain.update.approve}) == plain.update


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "/nowhere/settings.json", '{"no": 1}', '{"retrieve": {"budget": "much"}}'),
        *('{"storage": {"memory_limit_mb": -1}}', '{"storage": {"memory_limit_mb": "much"}}'),
    ],
)
def test_what_does_not_fit_is_refused(text):
    """The message names the variable."""
    with pytest.raises(InvalidSetting, match="ENGRAM_SETTINGS"):
        overridden(Settings(), text)


def test_chat_settings_come_from_the_environment(monkeypatch):
    """An argument goes first; what is named nowhere has its default."""
    monkeypatch.setenv("ENGRAM_CHAT", '{"timeout_seconds": 300, "structured_methods": ["json_prompt"]}')

    settings = resolve_chat()

    assert (settings.timeout_seconds, settings.structured_methods) == (300, ["json_prompt"])
    assert settings.retries == ChatSettings().retries
    assert resolve_chat(ChatSettings(retries=1)) == ChatSettings(retries=1)
    monkeypatch.delenv("ENGRAM_CHAT")
    assert resolve_chat() == ChatSettings()


@pytest.mark.parametrize("text", ["{", "[]", "/nowhere/chat.json", '{"no": 1}', '{"timeout_seconds": 0}'])
def test_chat_settings_that_do_not_fit_are_refused(text):
    """The message names the variable."""
    with pytest.raises(InvalidSetting, match="ENGRAM_CHAT"):
        resolve_chat(environment={"ENGRAM_CHAT": text})
