"""Each question of `prompts/`, answered without a model, under the same file name."""

if __name__ != "langgraph_engram.rules":
    raise ImportError(f"import langgraph_engram.rules, not {__name__}: a second copy's classes would not be ours")
