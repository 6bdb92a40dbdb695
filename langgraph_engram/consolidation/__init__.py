"""Find near-duplicate records and decide what becomes of them (DimMem section 3.4).

`similarity` finds candidates by keywords and vectors, `triage` rules out those that need no decision, `pairing` puts
both together. `resolution` turns pairs into clusters to ask about, and verdicts into proposals; `merging` describes
proposals to a person and carries them out; `conflicts` is about what other runs wrote meanwhile.
"""
