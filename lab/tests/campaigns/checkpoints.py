"""Keep the checkpoints of a LangGraph server in PostgreSQL: what `langgraph.json` names under `checkpointer`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_engram import checkpoint_serializer

VARIABLE = "POSTGRES_URI"
OPTIONS = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


@asynccontextmanager
async def open_checkpointer() -> AsyncIterator[AsyncPostgresSaver]:
    """Open the checkpointer of one worker, with its tables."""
    async with AsyncConnectionPool(os.environ[VARIABLE], max_size=10, kwargs=OPTIONS) as pool:
        saver = AsyncPostgresSaver(pool, serde=checkpoint_serializer())
        await saver.setup()
        yield saver
