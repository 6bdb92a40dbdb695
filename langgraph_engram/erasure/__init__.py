"""Forgetting: what goes, what is left of the rest, what goes from checkpoints and files, and what is still there."""
