"""Ask what becomes of records that resemble one another (DimMem section 3.4).

The paper decides pair by pair. Here one question may hold several clusters, each decided on whole, so that the result
does not depend on the order of pairs and one call serves many. The paper's way is a question of one cluster of two.
Content and dimensions are shown, as in the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.prompts.rendering import DATA_ONLY, inside, plain
from langgraph_engram.schema import Action, Record
from langgraph_engram.temporal.datetimes import format_day


class UpdateVerdict(BaseModel):
    """What was decided about a cluster, or about some of its members."""

    cluster: int = Field(default=1, description="the number of the cluster")
    action: Action
    members: list[int] = Field(
        default=[], description="numbers of the memories it is about; empty for the whole cluster"
    )
    content: str = Field(default="", description="for MERGE: one sentence that keeps every detail of all of them")
    reason: str = Field(default="", description="why, in a few words")


class UpdateVerdicts(BaseModel):
    """What was decided about each cluster."""

    verdicts: list[UpdateVerdict] = Field(description="at least one for each cluster")


SYSTEM = f"""You compare memories that look alike. They stand in clusters, numbered, and so are the memories of a
cluster, from oldest to newest. Decide about each cluster by itself.
MERGE: they tell the same thing; one sentence can hold every detail of them, and adds none.
SUPERSEDE: the newest says that what the older ones say is no longer so, or has changed.
CONFLICT: they cannot both be true, and the newer does not say that the older has changed.
KEEP_BOTH: they are different things, different occasions, or you are not sure.
Facts may change. One event told twice is merged; two events on different days are different things.
Tastes that add up are merged. What different people say of themselves is kept.
If only some memories of a cluster belong together, name them as members; the others are kept. For SUPERSEDE, name the
one that stays as well. Memories of one cluster may need several verdicts.
{DATA_ONLY}"""


@dataclass(frozen=True)
class DecideUpdate(Question[UpdateVerdicts]):
    """Are these the same, is one out of date, or do all stand?"""

    clusters: tuple[tuple[Record, ...], ...]
    """The clusters, each oldest first."""
    rules: str = SYSTEM
    """What the actions mean."""

    def render(self) -> list[BaseMessage]:
        """Render for a chat model."""
        shown = (f"Cluster {number} {_shown(records)}" for number, records in enumerate(self.clusters, start=1))
        return [SystemMessage(self.rules), HumanMessage("\n\n".join(shown))]


def _shown(records: Sequence[Record]) -> str:
    types = ", ".join(dict.fromkeys(record.memory_type or "memory" for record in records))
    lines = "\n".join(
        f"[{number}] ({format_day(record.mentioned_at)}) {plain(record.content)}{_dimensions(record)}"
        for number, record in enumerate(records, start=1)
    )
    return f"({types})\n{inside('memories', lines)}"


def _dimensions(record: Record) -> str:
    """Return the dimensions that a record has, by name; empty for none."""
    days = dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in (record.event_start, record.event_end) if moment)
    named = {
        "time": "/".join(days) or record.time_text,
        "place": record.location,
        "reason": record.reason,
        "purpose": record.purpose,
        "keywords": ", ".join(record.keywords),
    }
    shown = "; ".join(f"{name}: {plain(value)}" for name, value in named.items() if value)
    return f" ({shown})" if shown else ""
