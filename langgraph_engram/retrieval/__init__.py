"""Find evidence for a query (DimMem section 3.3; docs/architecture.md, the life of a question).

`queries` prepares the query, `routes` and `scoring` score, `features` and `fusion` rank, `grouping` joins sentences of
one exchange, `passages` formats them within a budget, `relevance` estimates whether they hold what is asked, and
`citations` traces an answer to them.
"""
