"""Adapters of the `Model` port that talk to chat models or to recordings."""
