"""Hold the parts of `Memory`: what reads, what looks back, what forgets."""
