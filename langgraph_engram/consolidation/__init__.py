"""Find near-duplicate records and decide what becomes of them (DimMem section 3.4)."""
