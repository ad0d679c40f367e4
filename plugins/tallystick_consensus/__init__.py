"""Consensus of a group: what the submissions of its members say of each other.

A submission becomes an ``answer``: sets, lines, a verdict and a risk. ``facts`` counts for each
member what it and its voters have; formulas of the rule set make components of that
(``binding``; ``components`` has those that ship). ``signals`` says what follows, and
``similarity`` how alike members are, which ``collusion`` watches over rounds. ``group`` is the
whole of it, for one group.
"""
