"""Times in English text: what they mean, or nothing where that is uncertain.

Its public functions are `find.find_times` (the times that a text mentions, given when it was said),
`resolve.resolve_times` (the text with their meaning in brackets), `parse.parse_time` (one time expression) and
`parse.parse_constraint` (the time that a query asks about). `datetimes` converts moments, `periods` computes calendar
periods.
"""
