"""Making the weights that ship with the package. Nothing imports this."""

if __name__ != "langgraph_engram.training":
    raise ImportError(f"import langgraph_engram.training, not {__name__}: a second copy's classes would not be ours")
