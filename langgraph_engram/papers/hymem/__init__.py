"""What HyMem (arXiv 2602.13933) alone needs."""
