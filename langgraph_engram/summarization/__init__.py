"""Summarize what was remembered as narratives across events (StructMem section 3.3).

`scheduling` decides which syntheses are due; `writing` chooses what each rests on, and writes, verifies or quotes.
"""
