"""Change settings in places, as text from the environment says: JSON, or the path of a file of JSON."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from langgraph_engram.errors import InvalidSetting
from langgraph_engram.settings import ChatSettings, Settings

VARIABLE = "ENGRAM_SETTINGS"
EXAMPLE = '{"update": {"approve": ["MERGE"]}}'
CHAT_VARIABLE = "ENGRAM_CHAT"
CHAT_EXAMPLE = '{"timeout_seconds": 300, "concurrency": 1}'
M = TypeVar("M", bound=BaseModel)


def overridden(settings: Settings, text: str) -> Settings:
    """Give settings with some of them changed.

    Args:
        settings: A preset's.
        text: A JSON object that holds the changes, group by group, or the path of a file that does; empty for none.

    Raises:
        InvalidSetting: It is no such object or file, or names a setting or a value that does not exist.
    """
    if not text.strip():
        return settings
    whole = settings.model_dump()
    for group, change in _read(text, VARIABLE, EXAMPLE).items():
        held = whole.get(group)
        whole[group] = {**held, **change} if isinstance(held, dict) and isinstance(change, dict) else change
    return _validated(Settings, whole, VARIABLE)


def chat_settings(text: str) -> ChatSettings:
    """Say how a chat model is talked to.

    Args:
        text: A JSON object that holds what is not as by default, or the path of a file that does; empty for nothing.

    Raises:
        InvalidSetting: It is no such object or file, or names a setting or a value that does not exist.
    """
    return _validated(ChatSettings, _read(text, CHAT_VARIABLE, CHAT_EXAMPLE) if text.strip() else {}, CHAT_VARIABLE)


def _validated(kind: type[M], values: dict[str, object], variable: str) -> M:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise InvalidSetting(
            f"{variable} does not fit the settings ({wrong}): see langgraph_engram.settings.{kind.__name__}"
        ) from error


def _read(text: str, variable: str, example: str) -> dict[str, object]:
    try:
        told = text if text.lstrip().startswith("{") else Path(text).expanduser().read_text(encoding="utf-8")
        changes = json.loads(told)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"{variable} is neither JSON nor a file that holds some ({error}): give such as {example}"
        ) from error
    if not isinstance(changes, dict):
        raise InvalidSetting(f"{variable} holds {type(changes).__name__}, not an object: give such as {example}")
    return changes
