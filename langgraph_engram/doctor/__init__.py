"""Examine a store without a model, and mend what can be rebuilt from its raw turns."""
