"""Summarize what was remembered as narratives across events (StructMem section 2.2)."""
