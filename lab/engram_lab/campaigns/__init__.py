"""Campaigns: kill processes, damage files, send odd input, look for leaks, and count what goes wrong."""
