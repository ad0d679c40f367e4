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
        netuid: of the subnet.
        mechanism: of a row.
        pairs: the row.
        version_key: that the row names.
        data: the bytes of a commitment.
        reason: why a row vanished, as the chain names it.
        is_signed: whether the caller has shown that it has the hotkey's key.
    """

    kind: Literal["row", "committed", "revealed", "vanished", "commitment"]
    block: int
    block_hash: str
    hotkey: str
    netuid: int
    mechanism: int = 0
    pairs: Pairs = ()
    version_key: int = 0
    data: bytes = b""
    reason: str = ""
    is_signed: bool = False

    @property
    def call(self) -> Call | None:
        """The call that it is of; None for a reveal, which nobody calls."""
        match self.kind:
            case "row" | "committed":
                return RowCall(self.netuid, self.mechanism, self.pairs, self.version_key)
            case "commitment":
                return CommitmentCall(self.netuid, self.data)
            case _:
                return None


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
