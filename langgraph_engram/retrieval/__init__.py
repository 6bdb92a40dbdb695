"""Find evidence for a query, by rules (docs/explanation/architecture.md, the life of a question)."""
