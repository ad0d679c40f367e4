"""Calls with a deadline: a connection that is late, or lost a call, is closed for another one."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chain.setting import NETUID, VALIDATOR, subnet

from tallystick_chain.bounded_chain import DEADLINE_SECONDS, BoundedChain
from tallystick_chain.chain import Chain, ChainError, Receipt, Refusal


class Connection:
    """A connection to a chain, some of whose calls are others."""

    def __init__(self, chain: Chain, calls: dict[str, Callable[..., object]]) -> None:
        self._chain, self._calls = chain, calls

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a call of the chain
        return self._calls.get(name) or getattr(self._chain, name)


def test_a_call_that_hangs_ends_with_its_connection() -> None:
    view, closed = subnet().as_hotkey(VALIDATOR), threading.Event()
    hangs = Connection(view, {"head": closed.wait, "close": closed.set})
    connections: Iterator[Any] = iter([hangs, view])
    chain = BoundedChain(lambda: next(connections), deadline_s=0)
    with pytest.raises(ChainError, match="no answer to head within") as caught:
        chain.head()
    assert caught.value.code is Refusal.UNREACHABLE
    closed.wait()
    chain.deadline_s = DEADLINE_SECONDS
    assert chain.head() == view.head()


def test_an_unknown_outcome_leaves_its_connection() -> None:
    view, closed = subnet().as_hotkey(VALIDATOR), threading.Event()
    calls: dict[str, Callable[..., object]] = {
        "commit": lambda *_: Receipt("unknown"),
        "close": closed.set,
    }
    connections: Iterator[Any] = iter([Connection(view, calls), view])
    chain = BoundedChain(lambda: next(connections))
    assert chain.commit(NETUID, b"x", DEADLINE_SECONDS).kind == "unknown"
    closed.wait()
    assert chain.commit(NETUID, b"x", DEADLINE_SECONDS).kind == "included"
