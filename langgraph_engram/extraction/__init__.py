"""Draw records from events and hold them against what was said (DESIGN, steps 3 and 4).

`extract` and `ground` are the steps. `packs` says what shares a call, `draft_records` asks, `writing_trust` judges who
answers, `build_records` with `wording` and `record_dimensions` makes records of drafts.
"""
