"""Cut turns into events and describe the boundaries between them (ES-Mem sections 3.1 and 3.2).

`segmenter` cuts a run's turns; `topic_tracking` and `boundary_model` find where a subject ends, with a language model
and without, by the numbers of `features`. `events` builds events, `titles` names them, `boundaries` describes what
stands between them, and `redescription` does so again in a retry. `rebase` puts a run's events on what was stored while
it ran.
"""
