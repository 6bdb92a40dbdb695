"""Wiring only: nodes, edges, routers."""
