"""Formulas as data: the expression tree, the facts it reads, and its readers.

``tree`` and ``facts`` build a formula; ``exact`` evaluates it for one record (the reference),
``lowering`` proves its ranges, ``columns`` and ``integers`` run the lowered form over many records
and over one, ``text`` prints it.
"""
