"""Embeddings: the `Encoder` port, its adapters, and the caches around them."""
