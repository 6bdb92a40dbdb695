"""Summarize what was remembered as narratives across events (StructMem section 3.3)."""
