"""One step of a paper in each file, and the arithmetic that steps share; a folder for each part of the two paths.

Write: `keeping` (receive, persist, report_run), `segmenting` (segment, describe_events), `extracting` (extract,
ground), `consolidating` (filter_candidates, consolidate, approve_updates, apply_updates, reload_records), `telling`
(synthesize). Read: `retrieving` (parse_intent, light_retrieve), `answering` (judge_sufficiency, deep_select,
gather_selection, backtrack, write_answer, reflect, conclude).
"""

if __name__ != "langgraph_engram.nodes":
    raise ImportError(f"import langgraph_engram.nodes, not {__name__}: a second copy's classes would not be ours")
