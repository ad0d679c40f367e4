"""Exact numbers: integer counts of 1e-9 (*nano*) and the kernels that compute with them.

``means`` has the weighted means, of scalars and of columns; the functions of columns load NumPy
when they are called (``mean_columns``), nothing else here does.
"""
