"""Extract records from events and verify them against what was said (DimMem sections 3.1 and 3.2)."""
