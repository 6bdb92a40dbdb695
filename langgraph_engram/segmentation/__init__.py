"""Cut turns into events and describe the boundaries between them (ES-Mem sections 3.1 and 3.2).

`segmenter` cuts a run's turns where `boundary_model` finds that a subject ends. `events` builds and names them, and
tells how one gives way to the next. `rebase` puts a run's events on what was stored while it ran.
"""
