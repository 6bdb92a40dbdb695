"""Adapters of the `Encoder` port."""
