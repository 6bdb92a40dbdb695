"""What StructMem (arXiv 2604.21748) alone needs."""
