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
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from tallystick.io.text import visible
from tallystick_chain.chain import (
    Chain,
    ChainError,
    Head,
    Pairs,
    Receipt,
    Refusal,
)

DEADLINE_SECONDS = 30.0
"""Longest time that a read may take, by default, in seconds; its wait for others is part of it."""
LAST_BLOCK = 2**32 - 1
"""Greatest number of a block: chains count them in 32 bits."""
_LONGEST_REASON = 300

_Result = TypeVar("_Result")
_Arguments = ParamSpec("_Arguments")
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


def _read_of(
    method: Callable[Concatenate[Chain, _Arguments], _Result],
) -> Callable[Concatenate[BoundedChain, _Arguments], _Result]:
    """Return a read of the protocol, made within a deadline."""
    name = method.__name__

    @wraps(method)
    def read(
        self: BoundedChain, /, *arguments: _Arguments.args, **options: _Arguments.kwargs
    ) -> _Result:
        result: _Result = self._read(name, *arguments, **options)
        return result

    return read


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
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end(hangs=False)

    def head(self) -> Head:
        """Return the newest blocks."""
        head: Head = self._read("head")
        if max(head.best, head.finalized) > LAST_BLOCK:
            raise ChainError(
                f"found the blocks {head.best} and {head.finalized}, expected at most "
                f"{LAST_BLOCK}, the last that a chain can have",
                Refusal.UNREACHABLE,
            )
        return head

    block_hash = _read_of(Chain.block_hash)
    block_time = _read_of(Chain.block_time)
    subnet = _read_of(Chain.subnet)
    neurons = _read_of(Chain.neurons)
    last_update = _read_of(Chain.last_update)
    row = _read_of(Chain.row)
    pending = _read_of(Chain.pending)
    commitments = _read_of(Chain.commitments)
    hotkey = _read_of(Chain.hotkey)

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row of weights within a deadline in seconds."""
        return self._write("submit_row", deadline_s, netuid, mechanism, pairs, version_key)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes in a subnet, within a deadline in seconds."""
        return self._write("commit", deadline_s, netuid, data)

    def _read(self, name: str, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # of the call
        try:
            return self._called(
                lambda chain: getattr(chain, name)(*arguments, **options), self.deadline_s
            )
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

    def _write(self, name: str, deadline_s: float, *arguments: Any) -> Receipt:  # noqa: ANN401  # of the call
        until = time.monotonic() + deadline_s

        def made(chain: Chain) -> Receipt:
            left_s = until - time.monotonic()
            if left_s <= 0:
                return Receipt("unknown", chain_error="its deadline passed before it was sent")
            receipt: Receipt = getattr(chain, name)(*arguments, left_s)
            return receipt

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
                self._connection = None
                connection.end(hangs=True)
                raise
        finally:
            self._lock.release()


def _reason(error: Exception) -> str:
    return visible(f"{type(error).__name__}: {error}")[:_LONGEST_REASON]
