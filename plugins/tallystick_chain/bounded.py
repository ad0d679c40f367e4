"""Calls of a chain with a deadline, from any thread, one at a time.

`BoundedChain` is a `Chain` over another one that is made by a function. It alone limits the time of
calls. One that takes longer than its deadline is abandoned, and its connection closed: a read
raises `ChainError` with the code ``unreachable``, a write gives the receipt ``unknown``; the next
call connects anew. What has not begun by then is not made any more, and nothing is signed for it: a
row that nobody waits for would be sent behind our back.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, TypeVar

from tallystick.io.text import visible
from tallystick_chain.chain import (
    Chain,
    ChainError,
    Commitment,
    Head,
    Neuron,
    Pairs,
    PendingRow,
    Receipt,
    Refusal,
    Subnet,
)

DEADLINE_SECONDS = 30.0
"""Longest time that a read may take, by default, in seconds; its wait for others is part of it."""
LAST_BLOCK = 2**32 - 1
"""Greatest number of a block: chains count them in 32 bits."""
_LONGEST_REASON = 300

_Result = TypeVar("_Result")
_Work = tuple[Callable[[Chain], Any], "Future[Any]"]
"""A call, and what becomes of it; once that is cancelled, the call is not made."""


class _Connection:
    """A chain in a thread of its own, which nothing waits for at the end of the process."""

    def __init__(self, connect: Callable[[], Chain]) -> None:
        self._connect = connect
        self._chain: Chain | None = None
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="chain", daemon=True).start()

    def submit(self, call: Callable[[Chain], _Result]) -> Future[_Result]:
        """Have a call made."""
        future: Future[_Result] = Future()
        self._work.put((call, future))
        return future

    def end(self, *, hangs: bool) -> None:
        """Disconnect, once the call that is made has ended; at once where it hangs."""
        self._work.put(None)
        if hangs:
            threading.Thread(target=self._close, name="chain", daemon=True).start()

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            call, future = item
            try:
                self._chain = chain = self._chain or self._connect()
                # connecting, or the call before, may have taken longer than anybody waits
                if future.set_running_or_notify_cancel():
                    future.set_result(call(chain))
            except BaseException as error:  # noqa: BLE001  # whoever called gets it
                # nobody waits for it where it is cancelled
                with suppress(InvalidStateError):
                    future.set_exception(error)
        self._close()

    def _close(self) -> None:
        chain, self._chain = self._chain, None
        close = getattr(chain, "close", None)
        if close is not None:
            # it is left anyway
            with suppress(Exception):
                close()


class BoundedChain:
    """A chain whose calls end within a deadline, whatever its backend does; see `Chain`.

    Attributes:
        deadline_s: of a read, in seconds.
    """

    def __init__(self, connect: Callable[[], Chain], deadline_s: float = DEADLINE_SECONDS) -> None:
        """Connect with the first call.

        Args:
            connect: makes the chain; it may raise whatever it wants.
            deadline_s: of a read, in seconds.
        """
        self._connect, self.deadline_s = connect, deadline_s
        self._connection: _Connection | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Disconnect; the next call connects again."""
        self._drop()

    def head(self) -> Head:
        """Return the newest blocks."""
        head = self._read("head", lambda chain: chain.head())
        if max(head.best, head.finalized) > LAST_BLOCK:
            raise ChainError(
                f"found the blocks {head.best} and {head.finalized}, expected at most "
                f"{LAST_BLOCK}, the last that a chain can have",
                Refusal.UNREACHABLE,
            )
        return head

    def block_hash(self, block: int) -> str:
        """Return the hash of a block."""
        return self._read("block_hash", lambda chain: chain.block_hash(block))

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet."""
        return self._read("subnet", lambda chain: chain.subnet(netuid, mechanism, block))

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid."""
        return self._read("neurons", lambda chain: chain.neurons(netuid, block))

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit; 0: never."""
        return self._read(
            "last_update", lambda chain: chain.last_update(netuid, mechanism, uid, block)
        )

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row that the chain has of a validator."""
        return self._read("row", lambda chain: chain.row(netuid, mechanism, uid, block))

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""
        return self._read("pending", lambda chain: chain.pending(netuid, mechanism, hotkey, block))

    def commitments(self, netuid: int, block: int) -> tuple[Commitment, ...]:
        """Return the newest commitment of each hotkey of a subnet."""
        return self._read("commitments", lambda chain: chain.commitments(netuid, block))

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row of weights within a deadline in seconds."""

        def call(chain: Chain, left_s: float) -> Receipt:
            return chain.submit_row(netuid, mechanism, pairs, version_key, left_s)

        return self._write(call, deadline_s)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes in a subnet, within a deadline in seconds."""
        return self._write(lambda chain, left_s: chain.commit(netuid, data, left_s), deadline_s)

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message by the hotkey."""
        return self._read("sign", lambda chain: chain.sign(message))

    def hotkey(self) -> str:
        """Return the validator's hotkey, as SS58."""
        return self._read("hotkey", lambda chain: chain.hotkey())

    def _read(self, name: str, call: Callable[[Chain], _Result]) -> _Result:
        try:
            return self._called(call, self.deadline_s)
        except ChainError as error:
            if error.code is Refusal.UNREACHABLE:
                self.close()
            raise
        except TimeoutError:
            raise ChainError(
                f"found no answer to {name} within {self.deadline_s:g} s, expected one",
                Refusal.UNREACHABLE,
            ) from None
        except Exception as error:
            # an SDK raises what it likes; none of it may end the daemon
            self.close()
            raise ChainError(
                f"found no answer to {name} ({_reason(error)}), expected one", Refusal.UNREACHABLE
            ) from error

    def _write(self, call: Callable[[Chain, float], Receipt], deadline_s: float) -> Receipt:
        until = time.monotonic() + deadline_s

        def made(chain: Chain) -> Receipt:
            left_s = until - time.monotonic()
            if left_s <= 0:
                return Receipt("unknown", chain_error="its deadline passed before it was sent")
            return call(chain, left_s)

        try:
            receipt = self._called(made, deadline_s)
        except TimeoutError:
            return Receipt("unknown", chain_error="no answer came in time")
        except Exception as error:  # noqa: BLE001  # it may have been sent
            receipt = Receipt("unknown", chain_error=_reason(error))
        if receipt.kind == "unknown":
            self.close()
        return receipt

    def _called(self, call: Callable[[Chain], _Result], seconds: float) -> _Result:
        """Return the answer to a call, within some seconds.

        Raises:
            TimeoutError: it did not come; the connection is abandoned.
        """
        until = time.monotonic() + seconds
        if not self._lock.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError
        try:
            connection = self._connection = self._connection or _Connection(self._connect)
            future = connection.submit(call)
            try:
                return future.result(max(0.0, until - time.monotonic()))
            except TimeoutError:
                future.cancel()
                self._drop(hangs=True)
                raise
        finally:
            self._lock.release()

    def _drop(self, *, hangs: bool = False) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end(hangs=hangs)


def _reason(error: Exception) -> str:
    return visible(f"{type(error).__name__}: {error}")[:_LONGEST_REASON]
