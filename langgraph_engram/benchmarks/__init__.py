"""Measuring. Nothing imports this but the command line, lazily."""

if __name__ != "langgraph_engram.benchmarks":
    raise ImportError(f"import langgraph_engram.benchmarks, not {__name__}: a second copy's classes would not be ours")
