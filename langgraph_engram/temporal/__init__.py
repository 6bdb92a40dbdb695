"""Times in English text: what they mean, or nothing where that is uncertain: a wrong date is worse than none."""
