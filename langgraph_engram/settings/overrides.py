"""Change settings of a preset in places, as text from the environment says: JSON, or the path of a file of JSON."""

import json
from pathlib import Path

from pydantic import ValidationError

from langgraph_engram.errors import InvalidSetting
from langgraph_engram.settings import Settings

VARIABLE = "ENGRAM_SETTINGS"
EXAMPLE = '{"update": {"approve": ["MERGE"]}}'


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
    changes = _read(text)
    whole = settings.model_dump()
    for group, change in changes.items():
        held = whole.get(group)
        whole[group] = {**held, **change} if isinstance(held, dict) and isinstance(change, dict) else change
    try:
        return Settings.model_validate(whole)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise InvalidSetting(
            f"{VARIABLE} does not fit the settings ({wrong}): see langgraph_engram.Settings"
        ) from error


def _read(text: str) -> dict[str, object]:
    try:
        told = text if text.lstrip().startswith("{") else Path(text).expanduser().read_text(encoding="utf-8")
        changes = json.loads(told)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"{VARIABLE} is neither JSON nor a file that holds some ({error}): give such as {EXAMPLE}"
        ) from error
    if not isinstance(changes, dict):
        raise InvalidSetting(f"{VARIABLE} holds {type(changes).__name__}, not an object: give such as {EXAMPLE}")
    return changes
