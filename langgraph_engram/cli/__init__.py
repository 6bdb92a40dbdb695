"""The command line `engram`."""
