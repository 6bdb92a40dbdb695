"""Compare memories: the same conversations, the same questions, the same tokens, our losses included."""
