"""Arguments come first, then the environment, then defaults; what does not fit is told with its name."""

import json

import pytest

from langgraph_engram.config import open_checkpointer, overridden, resolve, resolve_chat, resolve_model
from langgraph_engram.errors import InvalidSetting, ModelUnavailable, UnknownModel, UnknownPreset
from langgraph_engram.llm.chat import ChatSettings
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.settings import Settings


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    """Nothing is chosen by the machine that the tests run on."""
    for name in ("STORE", "MODEL", "ENCODER", "PRESET", "SETTINGS", "CHAT"):
        monkeypatch.delenv(f"ENGRAM_{name}", raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_arguments_win_over_the_environment_and_that_over_defaults(monkeypatch):
    """Each name is looked for in three places, in order."""
    monkeypatch.setenv("ENGRAM_PRESET", "hymem")
    monkeypatch.setenv("ENGRAM_STORE", "elsewhere")

    choice = resolve(None, None, "esmem", None)

    assert (choice.store, choice.model, choice.settings.preset) == ("elsewhere", "rules", "esmem")
    assert resolve(None, None, None, None).settings.preset == "hymem"


def test_a_key_alone_switches_no_paid_model_on(monkeypatch):
    """A key in the environment is not a choice."""
    monkeypatch.setenv("OPENAI_API_KEY", "a key")

    assert isinstance(resolve_model(resolve(None, None, None, None).model, ChatSettings()), RuleModel)


def test_what_means_nothing_is_told_at_once():
    """An unknown preset or model and an absent key fail before anything is opened."""
    with pytest.raises(UnknownPreset, match="engram, dimmem"):
        resolve(None, None, "best", None)
    with pytest.raises(UnknownModel, match="rules"):
        resolve_model("magic", ChatSettings())
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        resolve_model("openai:gpt-4.1-mini", ChatSettings())


def test_each_server_has_checkpoints_of_its_own(tmp_path, monkeypatch):
    """The users of two servers may have the same names; one server has one file, however its URL ends."""
    monkeypatch.setattr("langgraph_engram.config.user_data_path", lambda *_, **__: tmp_path)
    savers = [open_checkpointer(url) for url in ("http://a:8000", "http://a:8000/", "http://b:8000")]
    paths = [saver.path for saver in savers]
    for saver in savers:
        saver.conn.close()

    assert paths[0] == paths[1] != paths[2]
    assert all(path.exists() for path in paths)


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


def test_chat_settings_come_from_the_environment(monkeypatch):
    """An argument goes first; what is named nowhere has its default."""
    monkeypatch.setenv("ENGRAM_CHAT", '{"timeout_seconds": 300, "structured_methods": ["json_prompt"]}')

    settings = resolve_chat()

    assert (settings.timeout_seconds, settings.structured_methods) == (300, ["json_prompt"])
    assert settings.retries == ChatSettings().retries
    assert resolve_chat(ChatSettings(retries=1)) == ChatSettings(retries=1)
    monkeypatch.delenv("ENGRAM_CHAT")
    assert resolve_chat() == ChatSettings()


@pytest.mark.parametrize(
    ("variable", "read", "texts"),
    [
        ("ENGRAM_SETTINGS", lambda text: overridden(Settings(), text), ['{"retrieve": {"budget": "much"}}',
         '{"storage": {"memory_limit_mb": -1}}', '{"storage": {"memory_limit_mb": "much"}}']),
        ("ENGRAM_CHAT", lambda text: resolve_chat(environment={"ENGRAM_CHAT": text}), ['{"timeout_seconds": 0}']),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(variable, read, texts):
    """The message names the variable."""
    for text in ("{", "[]", "/nowhere/settings.json", '{"no": 1}', *texts):
        with pytest.raises(InvalidSetting, match=variable):
            read(text)


def test_a_number_of_a_paper_is_refused_where_none_is_followed():
    """The message says so, and what to do."""
    with pytest.raises(InvalidSetting, match="'engram' follows none, name one that does"):
        overridden(Settings(), '{"paper": {"top_k": 7}}')
