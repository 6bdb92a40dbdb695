"""Find evidence for a query (DimMem section 3.3; docs/explanation/architecture.md, the life of a question).

`queries` prepares the query. `routes` scores memories, with the arithmetic of `scoring`; `fusion` ranks them, with the
`features` of records, and `grouping` joins what was said together. `passages` formats evidence within a budget,
`relevance` estimates whether it holds what is asked for, `truncation` orders and ends the list by it, and `citations`
ties an answer to it.
"""
