"""Forgetting: select what is erased, repair what is left, delete checkpoints, and verify that no trace remains."""
