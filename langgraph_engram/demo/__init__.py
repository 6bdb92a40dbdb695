"""The sample conversation of `engram demo`."""
