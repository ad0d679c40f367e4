"""Closing: what is due at a finalized block, and the closing of one epoch against the ledger.

`due` is a pure function of the network file, the open epoch of the state and the finalized block.
`close` syncs the miners, closes every round with the records of the counted batches, takes late
ones, and closes the epoch, all in one transaction: kill -9 anywhere leaves the state before it or
after it. Nothing in it depends on when or in which order anything arrived, nor on whose state it
is: no time is written, batches go by hotkey, their lines by their own order.
"""
