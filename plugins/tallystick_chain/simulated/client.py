"""The client of a simulated chain's process: a `Chain` of one validator, and who steers it.

Each call has a deadline of its own. After a failure the connection is closed, and the next call
makes another; nothing is sent twice.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from tallystick_chain.chain import (
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
from tallystick_chain.simulated.calls import Fault, LogEntry
from tallystick_chain.simulated.hotkeys import address_of, signature_of
from tallystick_chain.simulated.wire import (
    MAX_ANSWER_BYTES,
    PROTOCOL,
    SCHEME,
    Answer,
    Challenge,
    Request,
    decoded,
    line_of,
    signed_bytes,
)
from tallystick_state.trust.keys import Signer

READ_DEADLINE_SECONDS = 10.0
"""Seconds that a read may take by default."""
_CHUNK = 1 << 16
_Value = TypeVar("_Value")


class _NotSentError(Exception):
    """A failure before a request was sent."""


class _UnansweredError(Exception):
    """A failure after a request may have been sent."""


class _Connection:
    """A connection that is made when it is needed; one request at a time.

    Args:
        url: of the chain.
        hotkey: of the validator; None: of who steers.
        signer: the key that signs what writes.
    """

    def __init__(self, url: str, hotkey: str | None, signer: Signer | None) -> None:
        self._socket: socket.socket | None = None
        self._address = _address(url)
        self.url, self._hotkey, self._signer = url, hotkey, signer
        self._lock = threading.Lock()
        self._challenge, self._rest, self._number = b"", b"", 0

    def close(self) -> None:
        """Close it; the next call makes another."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest, self._number = None, b"", 0

    def __del__(self) -> None:
        # a chain has no end of its own: who drops it drops the connection
        self.close()

    def call(
        self, name: str, kind: type[_Value], arguments: dict[str, Any], deadline_s: float
    ) -> _Value:
        """Call, and return the value.

        Raises:
            ChainError: the chain gives none.
            _NotSentError: nothing was sent.
            _UnansweredError: no answer came in time.
        """
        end = time.monotonic() + deadline_s
        if not self._lock.acquire(timeout=max(deadline_s, 0)):
            raise _NotSentError("another call has not ended")
        try:
            try:
                self._connect(end)
            except (OSError, ValueError, ChainError) as error:
                raise _NotSentError(f"{self.url}: {error}") from error
            answer = self._exchange(name, arguments, end)
            if answer.error is not None:
                raise answer.error.error()
            return decoded(answer.value, kind)
        except (OSError, ValueError) as error:
            self.close()
            raise _UnansweredError(f"{self.url}: {error}") from error
        except (_NotSentError, _UnansweredError):
            self.close()
            raise
        finally:
            self._lock.release()

    def _connect(self, end: float) -> None:
        if self._socket is not None:
            return
        self._socket = socket.create_connection(self._address, _remaining(end))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hello = {"protocol": PROTOCOL, "hotkey": self._hotkey}
        answer = self._exchange("hello", hello, end)
        if answer.error is not None:
            raise answer.error.error()
        self._challenge = decoded(answer.value, Challenge).challenge

    def _exchange(self, name: str, arguments: dict[str, Any], end: float) -> Answer:
        connection = self._socket
        if connection is None:
            raise ConnectionError("the connection is closed")
        self._number += 1
        request = Request(self._number, name, msgspec.Raw(msgspec.json.encode(arguments)))
        if self._signer is not None and name in {"submit_row", "commit"}:
            request.signature = self._signer.sign(signed_bytes(self._challenge, request))
        connection.settimeout(_remaining(end))
        connection.sendall(line_of(request))
        while b"\n" not in self._rest:
            connection.settimeout(_remaining(end))
            data = connection.recv(_CHUNK)
            if not data:
                raise ConnectionError("the connection was closed")
            self._rest += data
            if len(self._rest) > MAX_ANSWER_BYTES:
                raise ConnectionError(f"found more than {MAX_ANSWER_BYTES} bytes without an end")
        line, _, self._rest = self._rest.partition(b"\n")
        answer = decoded(line, Answer)
        if answer.id not in {request.id, 0}:
            raise ConnectionError(f"found the answer {answer.id}, expected {request.id}")
        return answer


class RemoteChain:
    """A `Chain` that another process simulates, as one validator sees it.

    Args:
        url: of the chain, such as ``simulate://127.0.0.1:9944``.
        key: the validator's hotkey, which cannot sign, or its key of sr25519.
        read_deadline_s: seconds that a read may take.

    Raises:
        ChainError: the URL is none; nothing is connected yet.
    """

    def __init__(
        self,
        url: str,
        key: str | Signer,
        *,
        read_deadline_s: float = READ_DEADLINE_SECONDS,
    ) -> None:
        self._signer = None if isinstance(key, str) else key
        self._hotkey = key if isinstance(key, str) else address_of(key)
        self._connection = _Connection(url, self._hotkey, self._signer)
        self._read_deadline_s = read_deadline_s

    def close(self) -> None:
        """Close the connection; the next call makes another."""
        self._connection.close()

    def head(self) -> Head:
        """Return the newest blocks."""
        return self._read("head", Head)

    def block_hash(self, block: int) -> str:
        """Return the hash of a block."""
        return self._read("block_hash", str, block=block)

    def subnet(self, netuid: int, mechanism: int, block: int) -> Subnet:
        """Return a mechanism of a subnet."""
        return self._read("subnet", Subnet, netuid=netuid, mechanism=mechanism, block=block)

    def neurons(self, netuid: int, block: int) -> tuple[Neuron, ...]:
        """Return the neurons of a subnet by uid."""
        return self._read("neurons", tuple[Neuron, ...], netuid=netuid, block=block)

    def last_update(self, netuid: int, mechanism: int, uid: int, block: int) -> int:
        """Return the block of a validator's last row or commit, or of its registration."""
        where = {"netuid": netuid, "mechanism": mechanism}
        return self._read("last_update", int, **where, uid=uid, block=block)

    def row(self, netuid: int, mechanism: int, uid: int, block: int) -> Pairs:
        """Return the row of a validator."""
        where = {"netuid": netuid, "mechanism": mechanism}
        return self._read("row", tuple[tuple[int, int], ...], **where, uid=uid, block=block)

    def pending(
        self, netuid: int, mechanism: int, hotkey: str, block: int
    ) -> tuple[PendingRow, ...]:
        """Return the committed rows of a validator that are not yet revealed."""
        where = {"netuid": netuid, "mechanism": mechanism}
        kind = tuple[PendingRow, ...]
        return self._read("pending", kind, **where, hotkey=hotkey, block=block)

    def commitments(self, netuid: int, block: int) -> tuple[Commitment, ...]:
        """Return the newest commitment of each hotkey, by hotkey."""
        return self._read("commitments", tuple[Commitment, ...], netuid=netuid, block=block)

    def submit_row(
        self, netuid: int, mechanism: int, pairs: Pairs, version_key: int, deadline_s: float
    ) -> Receipt:
        """Set or commit a row, as the subnet asks, within a deadline in seconds."""
        arguments = {
            "netuid": netuid,
            "mechanism": mechanism,
            "pairs": pairs,
            "version_key": version_key,
        }
        return self._write("submit_row", arguments, deadline_s)

    def commit(self, netuid: int, data: bytes, deadline_s: float) -> Receipt:
        """Publish at most 128 bytes, within a deadline in seconds."""
        return self._write("commit", {"netuid": netuid, "data": data}, deadline_s)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte sr25519 signature of a message by the hotkey.

        Raises:
            ChainError: it was named without its key.
            TrustError: the library is missing, or the message is wrapped already.
        """
        return signature_of(message, self._signer, self._hotkey)

    def hotkey(self) -> str:
        """Return the validator's hotkey."""
        return self._hotkey

    def _read(self, name: str, kind: type[_Value], **arguments: Any) -> _Value:  # noqa: ANN401  # JSON values
        try:
            return self._connection.call(name, kind, arguments, self._read_deadline_s)
        except (_NotSentError, _UnansweredError) as error:
            raise ChainError(str(error), Refusal.UNREACHABLE) from error

    def _write(self, name: str, arguments: dict[str, Any], deadline_s: float) -> Receipt:
        try:
            return self._connection.call(name, Receipt, arguments, deadline_s)
        except _NotSentError as error:
            return Receipt("refused", Refusal.UNREACHABLE, str(error))
        except _UnansweredError as error:
            return Receipt("unknown", chain_error=str(error))
        except ChainError as error:
            return Receipt("refused", error.code, str(error))


class Control:
    """The other side of a simulated chain's process: who makes its blocks and changes it.

    Args:
        url: of the chain.
        deadline_s: seconds that a call may take.
    """

    def __init__(self, url: str, *, deadline_s: float = READ_DEADLINE_SECONDS) -> None:
        self._connection, self._deadline_s = _Connection(url, None, None), deadline_s

    def close(self) -> None:
        """Close the connection; the next call makes another."""
        self._connection.close()

    def advance(self, blocks: int = 1) -> int:
        """Make blocks, and return the newest."""
        return self._call("advance", int, blocks=blocks)

    def do(self, name: str, **arguments: Any) -> Any:  # noqa: ANN401  # JSON values
        """Call a method of `SimulatedChain` by its name, such as ``register`` or ``fork``.

        Args:
            name: of the method.
            arguments: its own; of ``set_hyperparameters``, ``netuid`` and ``changes``.

        Raises:
            ChainError: it is refused, or no answer came.
        """
        return self._call(name, Any, **arguments)

    def inject(self, fault: Fault) -> None:
        """Let the next call that a fault fits meet it."""
        self._call("inject", type(None), fault=fault)

    def head(self) -> Head:
        """Return the newest blocks."""
        return self._call("head", Head)

    def log(self, *, retracted: bool = False) -> tuple[LogEntry, ...]:
        """Return the log of what the chain accepted, or what forks took back of it."""
        return tuple(self._log(retracted))

    def _log(self, retracted: bool) -> Iterator[LogEntry]:
        after = 0
        while entries := self._call("log", tuple[LogEntry, ...], after=after, retracted=retracted):
            yield from entries
            after += len(entries)

    def _call(self, name: str, kind: type[_Value], **arguments: Any) -> _Value:  # noqa: ANN401  # JSON values
        try:
            return self._connection.call(name, kind, arguments, self._deadline_s)
        except (_NotSentError, _UnansweredError) as error:
            raise ChainError(str(error), Refusal.UNREACHABLE) from error


def _address(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not url.startswith(SCHEME) or host is None or port is None:
        message = f"found the URL {url!r}, expected one such as {SCHEME}127.0.0.1:9944"
        raise ChainError(message, Refusal.UNREACHABLE)
    return host, port


def _remaining(end: float) -> float:
    remaining = end - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("no answer came in time")
    return remaining
