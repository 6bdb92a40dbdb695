"""What DimMem (arXiv 2605.15759) alone needs."""
