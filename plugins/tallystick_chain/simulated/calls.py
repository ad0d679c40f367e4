"""Calls of a simulated chain, the log of what came of them, and the faults that they can meet."""

from __future__ import annotations

from typing import Literal

import attrs

from tallystick_chain.chain import Pairs


@attrs.frozen
class RowCall:
    """A call that sets a row, or commits it where the subnet asks so.

    Attributes:
        netuid: of the subnet.
        mechanism: of the subnet.
        pairs: the row.
        version_key: that the row names.
    """

    netuid: int
    mechanism: int
    pairs: Pairs
    version_key: int


@attrs.frozen
class CommitmentCall:
    """A call that publishes bytes.

    Attributes:
        netuid: of the subnet.
        data: the bytes.
    """

    netuid: int
    data: bytes


Call = RowCall | CommitmentCall


@attrs.frozen
class LogEntry:
    """One thing that the chain accepted, or did with a committed row.

    Attributes:
        kind: a row that is set, committed, revealed, or vanished at its reveal; or a commitment.
        block: in which it happened.
        block_hash: of that block.
        hotkey: whose it is.
        call: the row or the commitment.
        reason: why a row vanished, as the chain names it.
    """

    kind: Literal["row", "committed", "revealed", "vanished", "commitment"]
    block: int
    block_hash: str
    hotkey: str
    call: Call
    reason: str = ""


@attrs.frozen
class Fault:
    """A fault of the next call that it fits; it happens once.

    Attributes:
        outcome: the call is ``lost``; it has ``landed``, and no answer comes; it lands ``late``,
            some blocks later, and no answer comes; or it is answered as included, in a block of a
            ``wrong-fork``, and is not there.
        kind: of the call: ``row``, ``commitment``, or ``read``, which can only be lost.
        hotkey: whose call; None: anybody's.
        blocks: how much later a late one lands.
        hangs: whether the connection stays open without an answer; False: it is closed.
    """

    outcome: Literal["lost", "landed", "late", "wrong-fork"]
    kind: Literal["row", "commitment", "read"] = "row"
    hotkey: str | None = None
    blocks: int = 1
    hangs: bool = True
