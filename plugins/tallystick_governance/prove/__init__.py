"""Proofs of a rule set by a solver, and records that refute what does not hold."""
