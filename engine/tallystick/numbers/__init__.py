"""Exact numbers: integer counts of 1e-9 (*nano*) and the kernels that compute with them.

Import the module that is needed: ``nano`` and ``weights`` need no NumPy; in the others the scalar
functions need none, and the functions named ``…_columns`` load it when they are called.
"""
