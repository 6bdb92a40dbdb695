"""One step of a paper in each file."""
