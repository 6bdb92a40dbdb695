"""`ENGRAM_SETTINGS` changes a preset in places, and says what is wrong with it."""

import json

import pytest

from langgraph_engram.configuration import choose
from langgraph_engram.errors import InvalidSetting
from langgraph_engram.settings import Settings
from langgraph_engram.settings.overrides import overridden


def test_settings_are_changed_in_places(monkeypatch, tmp_path):
    """As JSON or as a file of JSON; what is not named stays as the preset has it."""
    changes = {"update": {"approve": ["MERGE"]}, "retrieve": {"top_k": 7}}
    (tmp_path / "settings.json").write_text(json.dumps(changes))

    monkeypatch.setenv("ENGRAM_SETTINGS", json.dumps(changes))
    told = choose("memory:", None, "dimmem", None).settings
    monkeypatch.setenv("ENGRAM_SETTINGS", str(tmp_path / "settings.json"))
    read = choose("memory:", None, "dimmem", None).settings
    monkeypatch.delenv("ENGRAM_SETTINGS")
    plain = choose("memory:", None, "dimmem", None).settings

    assert told == read
    assert (told.update.approve, told.retrieve.top_k) == (["MERGE"], 7)
    assert told.model_copy(update={"update": plain.update, "retrieve": plain.retrieve}) == plain
    assert told.update.model_copy(update={"approve": plain.update.approve}) == plain.update


@pytest.mark.parametrize("text", ["{", "[]", "/nowhere/settings.json", '{"no": 1}', '{"retrieve": {"top_k": "many"}}'])
def test_what_does_not_fit_is_refused(text):
    """The message names the variable."""
    with pytest.raises(InvalidSetting, match="ENGRAM_SETTINGS"):
        overridden(Settings(), text)
