"""Times in English text: what they mean, or nothing where that is uncertain.

`find` has the public functions: `find_times` (the times that a text mentions, given when it was said), `resolve_times`
(the text with their meaning in brackets), `parse_time` (one time expression) and `parse_constraint` (the time that a
query asks about). `datetimes` converts moments and computes calendar periods. Parsers of dates read one into a bare
number or weekday too; a wrong date in a memory is worse than none.
"""
