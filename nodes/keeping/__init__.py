"""Take turns in, and write what a run made of them (DESIGN, steps 1 and 7).

The steps are `receive`, `persist` and `report_run`. `pending_steps` says what a retry does again; `rebase`,
`outdated_decisions` and `earlier_sessions` settle what other runs wrote meanwhile.
"""
