"""Calls with a deadline: a connection that is late, or lost a call, is closed for another one."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chain.faults import Answering
from chain.setting import NETUID, VALIDATOR, subnet

from tallystick_chain.bounded_chain import DEADLINE_SECONDS, BoundedChain
from tallystick_chain.chain import ChainError, Receipt, Refusal


def test_a_call_that_hangs_ends_with_its_connection() -> None:
    view, closed = subnet().as_hotkey(VALIDATOR), threading.Event()
    hangs = Answering(view, {"head": closed.wait, "close": closed.set})
    connections: Iterator[Any] = iter([hangs, view])
    chain = BoundedChain(lambda: next(connections), deadline_s=0)
    with pytest.raises(ChainError, match="no answer to head within") as caught:
        chain.head()
    assert caught.value.code is Refusal.UNREACHABLE
    closed.wait()
    chain.deadline_s = DEADLINE_SECONDS
    assert chain.head() == view.head()


def test_a_node_that_is_gone_leaves_its_connection() -> None:
    def gone() -> None:
        raise ChainError("gone", Refusal.UNREACHABLE)

    view, closed = subnet().as_hotkey(VALIDATOR), threading.Event()
    fails = Answering(view, {"head": gone, "close": closed.set})
    connections: Iterator[Any] = iter([fails, view])
    chain = BoundedChain(lambda: next(connections))
    with pytest.raises(ChainError, match="gone"):
        chain.head()
    closed.wait()
    assert chain.head() == view.head()


def test_an_unknown_outcome_leaves_its_connection() -> None:
    view, closed = subnet().as_hotkey(VALIDATOR), threading.Event()
    calls: dict[str, Callable[..., object]] = {
        "commit": lambda *_: Receipt("unknown"),
        "close": closed.set,
    }
    connections: Iterator[Any] = iter([Answering(view, calls), view])
    chain = BoundedChain(lambda: next(connections))
    assert chain.commit(NETUID, b"x", DEADLINE_SECONDS).kind == "unknown"
    closed.wait()
    assert chain.commit(NETUID, b"x", DEADLINE_SECONDS).kind == "included"


def test_a_write_that_nobody_waits_for_is_never_sent() -> None:
    world, released, ended = subnet(), threading.Event(), threading.Event()

    def connect() -> Any:  # noqa: ANN401  # a chain
        # as a node that answers long after the deadline
        released.wait()
        return Answering(world.as_hotkey(VALIDATOR), {"close": ended.set})

    assert BoundedChain(connect).submit_row(NETUID, 0, ((1, 65535),), 0, -5.0).kind == "unknown"
    released.set()
    # the worker has come to its end, behind the call
    ended.wait()
    assert world.log == ()


def test_a_write_has_the_time_that_connecting_left() -> None:
    given = list[float]()

    def commit(_netuid: int, _data: bytes, deadline_s: float) -> Receipt:
        given.append(deadline_s)
        return Receipt("unknown")

    connection: Any = Answering(subnet().as_hotkey(VALIDATOR), {"commit": commit})
    chain = BoundedChain(lambda: connection)
    chain.commit(NETUID, b"x", 60.0)
    assert 0 < given[0] < 60
    # within the seconds in which the backend may still tell, nothing is begun
    assert chain.commit(NETUID, b"x", 0.0).kind == "unknown"
    assert len(given) == 1


@pytest.mark.parametrize("error", [TimeoutError(), OSError("gone"), RuntimeError("a\nb\x1b[2J")])
def test_a_call_that_raises_is_unknown_or_an_error_of_one_line(error: Exception) -> None:
    def fails(*_: object) -> None:
        raise error

    calls = dict.fromkeys(("submit_row", "commit", "head"), fails)
    connection: Any = Answering(subnet().as_hotkey(VALIDATOR), calls)
    chain = BoundedChain(lambda: connection)
    assert chain.submit_row(NETUID, 0, ((1, 65535),), 0, 9.0).kind == "unknown"
    assert chain.commit(NETUID, b"x", 9.0).kind == "unknown"
    with pytest.raises(ChainError) as caught:
        chain.head()
    assert str(caught.value).isprintable()
