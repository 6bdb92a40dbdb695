"""Summarize what was remembered as narratives across events (StructMem section 3.3).

`scheduling` decides which syntheses are due, `sources` what each is written from; `writing` writes, verifies or quotes.
"""
