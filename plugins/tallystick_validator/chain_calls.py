"""Chain calls with a deadline of our own, from any thread, one at a time.

`BoundedChain` is a `Chain` over another one that is made by a function. A call that takes longer
than its deadline is abandoned with its connection: a read raises `ChainError` with the code
``unreachable``, a write gives the receipt ``unknown``; the next call connects anew.
"""
