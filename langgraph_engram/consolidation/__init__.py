"""Find records that resemble one another and decide what becomes of them (DESIGN, steps 5 and 6).

The steps are `filter_candidates`, `consolidate`, `approve_updates` and `apply_updates`, and `reload_records` of a
retry. Behind the first stand `keyword_index`, `look_alikes` and `tell_apart`; behind the others `clusters`, `rulings`
and `revise`.
"""
