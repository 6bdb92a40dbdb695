"""Cut turns into events and say what stands between them (DESIGN, step 2).

`segment` is the step, and `describe_events` that of a retry. `spans` cuts windows and buffers; `event_cuts` with
`coupling` and `boundary_probability` are the stages of ES-Mem; `learned_cuts` with `boundary_model` and
`boundary_features` need no model to ask. `build_events`, `event_names`, `name_events` and `boundaries` word the result.
"""
