"""One file for each box of the two drawings.

What they compute lives in `segmentation`, `extraction`, `consolidation`, `retrieval` and `summarization`.
"""

if __name__ != "langgraph_engram.nodes":
    raise ImportError(f"import langgraph_engram.nodes, not {__name__}: a second copy's classes would not be ours")
