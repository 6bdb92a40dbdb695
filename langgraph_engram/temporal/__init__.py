"""Times in English text: what they mean, or nothing where that is uncertain.

Its public functions are `find.find_times` (the times that a text mentions, given when it was said),
`find.resolve_times` (the text with their meaning in brackets), `parse.parse_time` (one time expression) and
`parse.parse_constraint` (the time that a query asks about). `datetimes` converts moments, `periods` computes calendar
periods. Parsers of dates read one into a bare number or weekday too; a wrong date in a memory is worse than none.
"""
