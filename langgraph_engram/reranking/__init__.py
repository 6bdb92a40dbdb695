"""Adapters of the port `Reranker`."""
