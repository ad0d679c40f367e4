"""Formulas for the components of a group's consensus."""
