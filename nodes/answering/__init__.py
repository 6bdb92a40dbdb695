"""Answer from evidence, go deeper where it does not suffice, and end (DESIGN, read steps 3 to 7).

The steps are `judge_sufficiency`, `deep_select`, `backtrack`, `write_answer`, `reflect` and `conclude`. `evidence_pool`
holds what the rounds of a recall found; `cite` sees to it that an answer says something and what it rests on.
"""
