"""The commands of `engram`, one file each, and how they are worded, laid out and refused."""
