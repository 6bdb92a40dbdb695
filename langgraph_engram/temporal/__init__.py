"""Times in English text: what they mean, or nothing where that is uncertain.

Parsers of dates read one into a bare number or weekday too; a wrong date in a memory is worse than none.
"""
