"""Scores: from facts to axes, composite, tier and emission, of one record and of columns."""
