"""The store over Chroma, and the in-process index that serves reads."""

if __name__ != "langgraph_engram.stores":
    raise ImportError(f"import langgraph_engram.stores, not {__name__}: a second copy's classes would not be ours")
