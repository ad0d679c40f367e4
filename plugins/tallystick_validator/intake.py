"""The intake: records of this validator, durable before they are answered.

`Intake` is a SQLite file of its own in the folder of the daemon, with one writer thread. Lines come
from any thread by `Intake.take`; many are written in one transaction and answered when it is
durable. Invariants:

- a line that was answered ``recorded`` is in the file, whatever is killed afterwards;
- a record is kept once, by the digest that the state knows it by; the same again is ``duplicate``;
- a record is in at most one batch that is not settled, and `freeze` names its batch once for ever;
- what waits is bounded: beyond the limit lines are refused with ``intake-full`` and nothing is lost.

What the agreement uses: ``freeze(epoch)`` puts what waits and is of the epoch or an earlier one
into the batch of that epoch, once, however often it is called; ``lines(epoch)`` gives the lines of
that batch in their canonical order; ``settle(epoch, counted)`` marks them as closed, or lets them
wait for the next batch as late ones.
"""
