"""Find near-duplicate records and decide what becomes of them (DimMem section 3.4).

`pairing` finds candidates by keywords and vectors, and rules out those that need no decision. `resolution` turns pairs
into clusters to ask about, and verdicts into proposals; `approval` shows these to a person, and `merging` carries them
out, whatever other runs wrote meanwhile.
"""
