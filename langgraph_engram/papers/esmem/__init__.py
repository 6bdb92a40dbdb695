"""What ES-Mem (arXiv 2601.07582) alone needs."""
