"""One question we ask a model in each file."""
