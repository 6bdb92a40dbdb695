"""Language models: the `Model` port, and its adapters for chat models and recordings."""
