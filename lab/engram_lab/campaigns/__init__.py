"""Campaigns: kill processes, damage files, and count what goes wrong."""
