"""Find near-duplicate records and decide what becomes of them (DimMem section 3.4).

`similarity` finds candidates by keywords and vectors, `triage` rules out those that need no decision, `pairing` puts
both together. `clustering` and `resolution` turn pairs into questions and verdicts into proposals, `merging` carries
them out, `approval` is about those that wait for a person, and `conflicts` about what other runs wrote meanwhile.
"""
