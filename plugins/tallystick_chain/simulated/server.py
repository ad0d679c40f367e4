"""A simulated chain as a process on a loopback socket, which several validators share.

Every client may steer the chain, as who tests does; so it is of this machine alone. A connection
has one request at a time, so that what waits to be written is at most one answer: who does not
read, or sends half a line, costs a bounded amount of memory and holds up nobody else.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

import attrs
import msgspec

from tallystick.errors import TrustError
from tallystick_chain.chain import ChainError, Pairs, Receipt, Refusal
from tallystick_chain.simulated.calls import Call, CommitmentCall, LogEntry, RowCall
from tallystick_chain.simulated.simulation import HotkeyView, SimulatedChain
from tallystick_chain.simulated.wire import (
    BAD_REQUEST,
    MAX_ANSWER_BYTES,
    MAX_REQUEST_BYTES,
    PROTOCOL,
    SCHEME,
    Answer,
    Arguments,
    CallError,
    Challenge,
    Hello,
    Request,
    decoded,
    line_of,
    signed_bytes,
)
from tallystick_state.trust.policy import key_of_hotkey

MAX_CONNECTIONS = 256
"""Maximum number of connections at once; a further one is closed."""
MAX_LOG_ENTRIES = 100
"""Maximum number of entries of the log in one answer."""
LOOPBACK = "127.0.0.1"
"""The address that a server listens on by default."""

_READS = (
    "head",
    "block_hash",
    "subnet",
    "neurons",
    "last_update",
    "row",
    "pending",
    "commitments",
)
_CONTROLS = (
    "advance",
    "fork",
    "create_subnet",
    "register",
    "trim",
    "set_stake",
    "set_permit",
    "set_hyperparameters",
    "request_epoch",
    "set_runtime",
    "inject",
)


class _Calls:
    """Calls that have no method of their own in the chain: their signatures."""

    @staticmethod
    def submit_row(netuid: int, mechanism: int, pairs: Pairs, version_key: int) -> RowCall:
        """Return the call of a row."""
        return RowCall(netuid, mechanism, pairs, version_key)

    @staticmethod
    def commit(netuid: int, data: bytes) -> CommitmentCall:
        """Return the call of a commitment."""
        return CommitmentCall(netuid, data)

    @staticmethod
    def log(after: int = 0, retracted: bool = False) -> tuple[int, bool]:
        """Return the number of the last entry that is known, and of which log."""
        return after, retracted

    @staticmethod
    def set_finality(runs: bool) -> bool:
        """Return whether blocks become final."""
        return runs


_ARGUMENTS: Mapping[str, Arguments] = MappingProxyType(
    {
        **{name: Arguments(getattr(HotkeyView, name)) for name in _READS},
        **{name: Arguments(getattr(SimulatedChain, name)) for name in _CONTROLS},
        **{
            name: Arguments(getattr(_Calls, name))
            for name in ("submit_row", "commit", "log", "set_finality")
        },
    }
)


@attrs.define
class _Session:
    """A connection.

    Attributes:
        view: the chain as the validator of its hotkey sees it.
        challenge: of its signatures.
        hotkey: of the validator; None: nobody's.
    """

    view: HotkeyView
    challenge: bytes
    hotkey: str | None


class _SilenceError(Exception):
    """A fault: the request has no answer.

    Attributes:
        hangs: whether the connection stays open.
    """

    def __init__(self, hangs: bool) -> None:
        super().__init__()
        self.hangs = hangs


class SimulationServer:
    """A server of one simulated chain.

    Args:
        chain: the chain.
        is_signed: whether rows and commitments are refused that are not signed by their hotkey.
    """

    def __init__(self, chain: SimulatedChain, *, is_signed: bool = False) -> None:
        self._chain, self._is_signed = chain, is_signed
        self._connections = set[asyncio.Task[None]]()

    async def serve(
        self,
        host: str,
        port: int,
        *,
        ready: Callable[[str], None],
        stop: asyncio.Event,
        block_time: float | None = None,
    ) -> None:
        """Serve until an event is set.

        Args:
            host: a loopback address.
            port: the port; 0: any that is free.
            ready: called with the URL when it listens.
            stop: the event.
            block_time: seconds between two blocks; None: they are made by calls alone.

        Raises:
            OSError: the address cannot be used.
            ValueError: the address is not of this machine alone.
        """
        if not ipaddress.ip_address(host).is_loopback:
            raise ValueError(f"found {host}, expected a loopback address such as {LOOPBACK}")
        server = await asyncio.start_server(self._connected, host, port, limit=MAX_REQUEST_BYTES)
        try:
            address, port = server.sockets[0].getsockname()[:2]
            ready(f"{SCHEME}[{address}]:{port}" if ":" in address else f"{SCHEME}{address}:{port}")
            while not stop.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), block_time)
                if not stop.is_set():
                    self._chain.advance()
        finally:
            server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._connections) >= MAX_CONNECTIONS:
            writer.close()
            return
        self._connections.add(task)
        try:
            # a client that is gone needs no answer, and a server that ends waits for none
            with suppress(ConnectionError, asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session: _Session | None = None
        while True:
            request = None
            try:
                line = await _line(reader)
                if line is None:
                    return
                request = decoded(line, Request)
                if session is None:
                    session = self._begin(request)
                    value: object = Challenge(session.challenge)
                else:
                    value = self._value(session, request)
                answer = Answer(request.id, _encoded(value))
            except ChainError as error:
                answer = Answer(request.id if request else 0, error=CallError.of(error))
            except _SilenceError as silence:
                # what it sends beside is read, so that its end is seen
                while silence.hangs and await reader.read(MAX_REQUEST_BYTES):
                    pass
                return
            except ValueError as error:
                reason = CallError(BAD_REQUEST, f"found {error}")
                writer.write(line_of(Answer(request.id if request else 0, error=reason)))
                await writer.drain()
                return
            writer.write(line_of(answer))
            await writer.drain()

    def _begin(self, request: Request) -> _Session:
        if request.call != "hello":
            raise ValueError(f"the call {request.call[:40]!r}, expected hello first")
        hello = decoded(request.arguments, Hello)
        if hello.protocol != PROTOCOL:
            raise ValueError(f"the protocol {hello.protocol}, expected {PROTOCOL}")
        view = HotkeyView(self._chain, hello.hotkey or "")
        return _Session(view, secrets.token_bytes(32), hello.hotkey)

    def _value(self, session: _Session, request: Request) -> object:
        """Return what a call returns.

        Raises:
            ChainError: the chain refuses to answer.
            _SilenceError: a fault.
            ValueError: there is no such call, or its arguments are others.
        """
        signature = _ARGUMENTS.get(request.call)
        if signature is None:
            raise ValueError(f"the call {request.call[:40]!r}, expected one that there is")
        arguments = signature.decode(request.arguments)
        if request.call in _READS:
            return self._read(session, request.call, arguments)
        match request.call:
            case "submit_row":
                return self._submit(session, request, _Calls.submit_row(**arguments))
            case "commit":
                return self._submit(session, request, _Calls.commit(**arguments))
            case "log":
                return self._log(*_Calls.log(**arguments))
            case "set_finality":
                self._chain.has_finality = _Calls.set_finality(**arguments)
                return None
            case name:
                return getattr(self._chain, name)(**arguments)

    def _read(self, session: _Session, name: str, arguments: Mapping[str, Any]) -> object:
        fault = self._chain.read_fault(session.hotkey or "")
        if fault is not None:
            raise _SilenceError(fault.hangs)
        return getattr(session.view, name)(**arguments)

    def _submit(self, session: _Session, request: Request, call: Call) -> Receipt:
        if session.hotkey is None:
            raise ChainError("found a call without a hotkey", Refusal.NOT_REGISTERED)
        problem = self._signature_problem(session, request)
        if problem is not None:
            return Receipt("refused", Refusal.OTHER, f"BadProof: {problem}")
        is_signed = request.signature is not None
        receipt, fault = self._chain.call(session.hotkey, call, is_signed=is_signed)
        if fault is not None and receipt.kind == "unknown":
            raise _SilenceError(fault.hangs)
        return receipt

    def _signature_problem(self, session: _Session, request: Request) -> str | None:
        if request.signature is None:
            return "not signed" if self._is_signed else None
        key = key_of_hotkey(session.hotkey or "")
        if key is None:
            return "the hotkey is no SS58 address"
        try:
            is_genuine = key.verifies(signed_bytes(session.challenge, request), request.signature)
        except TrustError as error:
            return str(error)
        return None if is_genuine else "the signature is not of the hotkey"

    def _log(self, after: int, retracted: bool) -> tuple[LogEntry, ...]:
        log = self._chain.retracted if retracted else self._chain.log
        return log[max(after, 0) :][:MAX_LOG_ENTRIES]


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next line; None at the end, or where the last one has none.

    Raises:
        ValueError: it is too long.
    """
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise ValueError(f"more than {MAX_REQUEST_BYTES} bytes, expected a shorter line") from None


def _encoded(value: object) -> msgspec.Raw:
    data = msgspec.json.encode(value)
    if len(data) > MAX_ANSWER_BYTES // 2:
        message = f"found an answer of {len(data)} bytes, expected at most {MAX_ANSWER_BYTES // 2}"
        raise ChainError(message, Refusal.NOT_MODELLED)
    return msgspec.Raw(data)


@contextmanager
def serving(
    chain: SimulatedChain, *, is_signed: bool = False, block_time: float | None = None
) -> Iterator[str]:
    """Serve a chain from a thread, and give its URL.

    Args:
        chain: the chain, which can be used beside as it is.
        is_signed: whether rows and commitments are refused that are not signed.
        block_time: seconds between two blocks; None: they are made by calls alone.

    Yields:
        The URL.
    """
    urls, is_ready = list[str](), threading.Event()
    handles = list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()

    async def run() -> None:
        stop = asyncio.Event()
        handles.append((asyncio.get_running_loop(), stop))

        def ready(url: str) -> None:
            urls.append(url)
            is_ready.set()

        server = SimulationServer(chain, is_signed=is_signed)
        await server.serve(LOOPBACK, 0, ready=ready, stop=stop, block_time=block_time)

    def target() -> None:
        try:
            asyncio.run(run())
        finally:
            is_ready.set()

    thread = threading.Thread(target=target, name="simulated chain")
    thread.start()
    is_ready.wait()
    try:
        if not urls:
            raise OSError("the simulated chain found no port")
        yield urls[0]
    finally:
        for loop, stop in handles:
            with suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(stop.set)
        thread.join()
