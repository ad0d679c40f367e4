"""Seeded random records, realistic and adversarial, and a plain reading of what fits."""

from generators.records import SKILL_TYPES, lines, record

__all__ = ["SKILL_TYPES", "lines", "record"]
