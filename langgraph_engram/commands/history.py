"""`engram history`: show what a record was made of, and what took its place."""

from langgraph_engram.commands.opening import open_existing
from langgraph_engram.commands.options import Agent, AsJson, RecordId, Store, Tenant, User
from langgraph_engram.commands.output import print_json, print_table, say
from langgraph_engram.commands.show import COLUMNS, ShownKind, row


def history(
    record_id: RecordId,
    user: User,
    store: Store = None,
    tenant: Tenant = "default",
    agent: Agent = None,
    as_json: AsJson = False,
) -> None:
    """Show a record's lineage in order of time, and the decisions between its members."""
    with open_existing(store, None, None) as memory:
        told = memory.history(record_id, user_id=user, tenant=tenant, agent_id=agent)
    if as_json:
        print_json(told)
        return
    print_table(
        ["id", *COLUMNS[ShownKind.RECORDS]], [[one.record_id, *row(ShownKind.RECORDS, one)] for one in told.records]
    )
    if told.decisions:
        say()
        print_table([*COLUMNS[ShownKind.DECISIONS]], [row(ShownKind.DECISIONS, one) for one in told.decisions])
