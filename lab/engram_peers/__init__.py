"""Drivers of other memories, each with the versions it was written for, and what serves them (`engram bench peers`)."""
