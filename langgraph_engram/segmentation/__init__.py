"""Cut turns into events and describe the boundaries between them (ES-Mem sections 3.1 and 3.2)."""
