"""Name a day as headings do."""

from datetime import datetime


def name_day(moment: datetime | None) -> str:
    """Name a day with its weekday: "Mon 8 May 2023"; "undated" for none."""
    return f"{moment:%a} {moment.day} {moment:%B %Y}" if moment else "undated"
