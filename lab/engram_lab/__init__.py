"""The laboratory of `langgraph-engram`: benchmarks, judges, ablations, training."""
