"""Faults of a chain, round any `Chain`: calls and reads whose answers do not come, or are wrong."""

from collections.abc import Callable
from typing import Any, Literal

import attrs

from tallystick_chain.chain import Chain, ChainError, Head, Pairs, Receipt, Refusal

Fault = Literal["lost", "landed", "late", "wrong-fork"]
Step = Callable[[str], None]
"""A function that is told each step by its name, and may end the process there."""


@attrs.define
class Faults:
    """Faults of the next call or read of a validator, over all its processes.

    Attributes:
        row: of the next row: it is lost; it lands without an answer; it lands some blocks later
            without one; or it is answered as included in a block of a fork, and is not there.
        late_blocks: how much later a late one lands.
        reads_until: the number of reads before one without an answer; None: all have one.
    """

    row: Fault | None = None
    late_blocks: int = 1
    reads_until: int | None = None
    late: list[tuple[int, Pairs, tuple[int, int, int]]] = attrs.field(factory=list)


@attrs.define
class Answering:
    """A chain some of whose calls are others, as long as they are there."""

    chain: Chain
    calls: dict[str, Callable[..., object]]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a call of the chain
        return self.calls.get(name) or getattr(self.chain, name)


class FaultyChain:
    """A chain with faults, which tells the steps round each call that is submitted."""

    def __init__(self, chain: Chain, faults: Faults, step: Step = lambda _: None) -> None:
        self._chain, self._faults, self._step = chain, faults, step

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any other call
        if name != "hotkey":
            self._read()
        return getattr(self._chain, name)

    def head(self) -> Head:
        """The newest blocks; a late row lands before the block in which it does."""
        self._read()
        head = self._chain.head()
        for late in [late for late in self._faults.late if late[0] <= head.best + 1]:
            self._faults.late.remove(late)
            _, pairs, (netuid, mechanism, version_key) = late
            self._chain.submit_row(netuid, mechanism, pairs, version_key, 1.0)
        return head

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Submit a row, which meets the fault if there is one."""
        self._step("submit")
        receipt = self._submitted(netuid, mechanism, pairs, version_key, deadline_s)
        self._step("submitted")
        return receipt

    def _submitted(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        fault, self._faults.row = self._faults.row, None
        if fault in {None, "landed"}:
            receipt = self._chain.submit_row(netuid, mechanism, pairs, version_key, deadline_s)
            if fault is None:
                return receipt
        if fault == "late":
            block = self._chain.head().best + 1 + self._faults.late_blocks
            self._faults.late.append((block, pairs, (netuid, mechanism, version_key)))
        if fault == "wrong-fork":
            return Receipt("included", block_hash="0x" + "0" * 64)
        return Receipt("unknown", chain_error="no answer came")

    def _read(self) -> None:
        if self._faults.reads_until is None:
            return
        self._faults.reads_until -= 1
        if self._faults.reads_until < 0:
            self._faults.reads_until = None
            raise ChainError("no answer came", Refusal.UNREACHABLE)
