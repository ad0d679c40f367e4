"""The columnar halves of the kernels, in NumPy.

Doubles only propose: a proposal is kept when a stated error bound excludes every other answer,
and integers decide the rest. So the results do not depend on the machine, its vector
instructions, the C library or the version of NumPy. No kernel uses BLAS.
"""
