"""Simulations for governance: what miners will do under a rule set, and under a change of it."""
