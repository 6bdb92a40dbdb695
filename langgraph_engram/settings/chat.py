"""Hold how a chat model is talked to."""

from typing import Literal

from pydantic import Field

from langgraph_engram.settings.group import Group


class ChatSettings(Group):
    """How a chat model is talked to."""

    structured_methods: list[Literal["json_schema", "function_calling", "json_object_schema", "json_prompt"]] = [
        "json_schema", "function_calling", "json_object_schema", "json_prompt",
    ]  # fmt: skip
    """Ways to ask for JSON, tried in this order; the first that works is remembered."""
    temperature: float = Field(0.0, ge=0, le=2)
    timeout_seconds: float = Field(60.0, gt=0)
    max_completion_tokens: int = Field(4096, ge=16)
    retries: int = Field(4, ge=0)
    """Further attempts after a rate limit, a time-out or a server error, with growing pauses."""
    concurrency: int = Field(4, ge=1)
    """Questions in flight at once."""
