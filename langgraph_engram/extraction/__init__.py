"""Extract records from events and verify them against what was said (DimMem sections 3.1 and 3.2).

`batching` decides what shares a call, `extractor` asks, and lets a model that cannot write label; `records` makes
records of the drafts, `lasting` marks what lasts, `evidence` verifies all against the turns.
"""
