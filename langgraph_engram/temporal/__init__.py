"""Times in English text: what they mean, or nothing where that is uncertain.

Its face is `find.find_times` (the times that a text mentions, given when it was said), `resolve.resolve_times` (the
text with what they mean in brackets) and `parse.parse_time` and `parse.parse_constraint` (one time expression; the time
that a query asks about). `datetimes` says what a moment is, `periods` reckons with the calendar.
"""
