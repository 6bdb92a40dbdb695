"""LangGraph's key-value store over Chroma, beside the memories and never mixed with them."""
