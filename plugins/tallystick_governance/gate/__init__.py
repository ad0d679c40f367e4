"""The gate: whether a change of rules keeps the clauses that a council has written down."""
