"""Answer each question of `prompts/` by a short rule, without a language model."""
