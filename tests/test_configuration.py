"""Arguments come first, then the environment, then defaults; checkpoints hold our types and no others."""

import pytest

from langgraph_engram.config import open_checkpointer, resolve, resolve_model
from langgraph_engram.errors import ModelUnavailable, UnknownModel, UnknownPreset
from langgraph_engram.llm.chat import ChatSettings
from langgraph_engram.rule_model.model import RuleModel


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    """Nothing is chosen by the machine that the tests run on."""
    for name in (
        "ENGRAM_STORE",
        "ENGRAM_MODEL",
        "ENGRAM_ENCODER",
        "ENGRAM_PRESET",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ):
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
