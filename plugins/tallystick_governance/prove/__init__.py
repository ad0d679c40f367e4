"""Proofs of a rule set by a solver, and records that refute what does not hold."""

# before any module of this package needs the solver: it says which extra is missing
import tallystick.formula.smt  # noqa: F401
