"""Keep the items of LangGraph's own store in Chroma, beside the memories and never mixed with them."""
