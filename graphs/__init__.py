"""Wiring only: nodes, edges, routers."""

if __name__ != "langgraph_engram.graphs":
    raise ImportError(f"import langgraph_engram.graphs, not {__name__}: a second copy's classes would not be ours")
