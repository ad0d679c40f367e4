"""State: what outlives a record, who may decide about it, and what others can check of it.

Transitions are pure functions in this package; ``store`` keeps what they give. ``trust`` has keys,
signed statements and proofs, and ``audit`` compares what others published with what follows from
their inputs.
"""
