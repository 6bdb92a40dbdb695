"""One question we ask a model in each file."""

if __name__ != "langgraph_engram.prompts":
    raise ImportError(f"import langgraph_engram.prompts, not {__name__}: a second copy's classes would not be ours")
