"""Each question of `prompts/`, answered without a model, under the same file name."""
