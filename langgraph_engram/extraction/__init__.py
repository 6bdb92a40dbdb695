"""Extract records from events and verify them against what was said (DimMem sections 3.1 and 3.2).

`batching` decides what shares a call, `extractor` asks, and `capability` judges whether a model can write records at
all. `records` makes records of the candidates, `standing` recognises the user's standing
statements among them, and `evidence` verifies them against the turns they cite.
"""
