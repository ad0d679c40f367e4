"""Exact numbers: integer counts of 1e-9 (*nano*) and the kernels that compute with them.

Only `doubles` and `geometric_mean_columns` load NumPy.
"""
