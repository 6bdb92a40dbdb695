"""Hold what all groups of settings share."""

from pydantic import BaseModel, ConfigDict


class Group(BaseModel):
    """The base of a group of settings: immutable, closed to unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")
