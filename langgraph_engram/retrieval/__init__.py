"""Find evidence for a query (DESIGN, read steps 1 and 2).

`parse_intent` and `light_retrieve` are the steps. `routes` with `boundary_route` and `dimension_score` find, `scoring`,
`preferences` and `fusion` order, `rerank` orders anew, `show_evidence` words pieces within a budget.
"""
