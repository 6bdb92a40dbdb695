"""One step of a paper in each file, and the arithmetic that steps share.

Write steps: `receive segment extract ground filter_candidates consolidate persist synthesize report_run`; of a retry
also `describe_events take_up_records`, and `pending_steps` says what each step does again.
Read steps: `parse_intent light_retrieve judge_sufficiency deep_select gather_selection backtrack write_answer reflect
conclude`.

Behind `segment`: `spans` (windows, buffers), `event_cuts` with `coupling` and `boundary_probability` (the stages of
ES-Mem), `build_events`, `boundaries`. Behind `extract`: `build_records`. Behind `consolidate`: `clusters`. Behind
`persist`: `rebase`. Behind `synthesize`: `synthesis_jobs`, `synthesis_history`, `pending_synthesis`. Behind
`light_retrieve`: `routes` with `boundary_route` and `dimension_score`, `scoring`, `record_links`, `answer_holders`,
`preferences`, `fusion`, `show_evidence`, `standing_index`. Behind the rounds of a recall: `evidence_pool`.
"""

if __name__ != "langgraph_engram.nodes":
    raise ImportError(f"import langgraph_engram.nodes, not {__name__}: a second copy's classes would not be ours")
