"""Tell what was remembered as narratives across events (DESIGN, step 8).

`synthesize` is the step. `synthesis_jobs` says what is due, `synthesis_history` what it goes back to, and
`pending_synthesis` what is left to do.
"""
