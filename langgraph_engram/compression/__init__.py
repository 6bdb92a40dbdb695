"""Shorten what a model reads. What is stored stays as it was said."""
