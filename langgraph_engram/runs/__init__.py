"""Run the two graphs: check a request, name its thread, follow the run, and read its receipt."""
