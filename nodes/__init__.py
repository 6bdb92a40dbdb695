"""One file for each box of the two drawings.

Write: receive, segment, extract, verify, filter_candidates, consolidate, approve_updates, persist, synthesize,
report_run. Read: parse_intent, light_retrieve, judge_sufficiency, deep_select, backtrack, write_answer, reflect,
conclude. What they compute lives in `segmentation`, `extraction`, `consolidation`, `retrieval` and `summarization`.
"""

if __name__ != "langgraph_engram.nodes":
    raise ImportError(f"import langgraph_engram.nodes, not {__name__}: a second copy's classes would not be ours")
