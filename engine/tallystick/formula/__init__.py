"""Formulas as data: the expression tree, the facts it reads, and its evaluators.

``tree`` and ``facts`` build a formula; ``evaluate`` gives its exact value for one record (the
reference), ``lowering`` proves its ranges, ``columns`` and ``generated`` run the lowered form over
many records and over one, ``text`` prints it, ``smt`` puts it to a solver.
"""
