"""Measuring. Nothing imports this but the command line, lazily."""
